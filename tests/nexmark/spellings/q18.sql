--: unbounded
SELECT auction, bidder, price, channel, url, date_time, extra FROM (SELECT *, ROW_NUMBER() OVER (PARTITION
  BY bidder, auction ORDER BY date_time DESC) AS rank_number FROM bid) WHERE rank_number <= 1;

--: unbounded
SELECT DISTINCT ON (bidder, auction) auction, bidder, price, channel, url, date_time, extra FROM bid ORDER
  BY bidder, auction, date_time DESC;

--: unbounded
SELECT * FROM bid QUALIFY ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) = 1;

--:
SELECT * FROM bid b WINDOW INTERVAL '1' DAY QUALIFY ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER
  BY date_time DESC) = 1;

--: window
SELECT * FROM bid QUALIFY ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) = 1;

--: unbounded ms
SELECT * FROM bid QUALIFY ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) = 1;

--: unbounded
SELECT auction, bidder, price, channel, url, date_time, extra FROM (SELECT *, RANK() OVER (PARTITION BY
  bidder, auction ORDER BY date_time DESC, price, channel, url, extra) AS r FROM bid) WHERE r = 1;

--: final
--= SELECT DISTINCT ON (bidder, auction, date_time::DATE) auction, bidder, price, channel, url, date_time,
--= extra FROM bid ORDER BY date_time DESC, auction, bidder, price, channel, url, extra
SELECT * FROM bid QUALIFY ROW_NUMBER() OVER (PARTITION BY bidder, auction, CAST(date_time AS DATE) ORDER
  BY date_time DESC) = 1;

--:
--= SELECT DISTINCT ON (bidder, auction, date_time::DATE) auction, bidder, price, channel, url, date_time,
--= extra FROM bid ORDER BY date_time DESC, auction, bidder, price, channel, url, extra
SELECT * FROM bid QUALIFY ROW_NUMBER() OVER (PARTITION BY bidder, auction, CAST(date_time AS DATE) ORDER
  BY date_time DESC) = 1;

--: unbounded
--= SELECT DISTINCT ON (bidder, auction) auction, bidder, price, channel, url, date_time, extra FROM bid
--= ORDER BY date_time, auction, bidder, price, channel, url, extra
SELECT * FROM bid QUALIFY ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY date_time) = 1;
