--: unbounded
SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM
  bid) WHERE rank_number <= 10;

--: unbounded
SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid QUALIFY
  rank_number <= 10;

--:
SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid b WINDOW
  INTERVAL '1' DAY QUALIFY rank_number BETWEEN 1 AND 10;

--: unbounded
WITH ranked AS (SELECT *, ROW_NUMBER() OVER w AS n FROM bid WINDOW w AS (PARTITION BY auction ORDER BY
  price DESC)) SELECT * FROM ranked WHERE n < 11;

--: unbounded ms
SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, date_time) AS
  rank_number FROM bid) WHERE 10 >= rank_number;

--: unbounded flat
SELECT auction, bidder, price, channel, url, date_time, extra, rank_number FROM (SELECT *, ROW_NUMBER()
  OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid) WHERE rank_number <= 10;

--: unbounded
--= SELECT auction, bidder, price, channel, url, date_time, extra FROM bid QUALIFY row_number() OVER
--= (PARTITION BY auction ORDER BY price DESC, date_time, auction, bidder, channel, url, extra) <= 10
SELECT t.* FROM (SELECT DISTINCT auction FROM bid) a, LATERAL (SELECT * FROM bid b WHERE b.auction =
  a.auction ORDER BY price DESC LIMIT 10) t;

--: final
--= SELECT auction, bidder, price, channel, url, date_time, extra FROM bid QUALIFY row_number() OVER
--= (PARTITION BY auction, time_bucket(INTERVAL 10 SECOND, date_time) ORDER BY price DESC, date_time,
--= auction, bidder, channel, url, extra) <= 10
SELECT * FROM bid QUALIFY ROW_NUMBER() OVER (PARTITION BY auction, window(date_time, '10 seconds') ORDER
  BY price DESC) <= 10;
