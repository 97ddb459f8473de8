--:
SELECT B.auction, B.price, B.bidder, B.date_time, B.extra FROM bid B JOIN (SELECT MAX(B1.price) AS
  maxprice, TUMBLE_ROWTIME(B1.date_time, INTERVAL '10' SECOND) as date_time FROM bid B1 GROUP BY
  TUMBLE(B1.date_time, INTERVAL '10' SECOND)) B1 ON B.price = B1.maxprice WHERE B.date_time BETWEEN
  B1.date_time - INTERVAL '10' SECOND AND B1.date_time;

--:
SELECT B.auction, B.price, B.bidder, B.date_time, B.extra FROM bid B JOIN (SELECT MAX(price) AS maxprice,
  window_end as date_time FROM TUMBLE(bid, date_time, INTERVAL '10' SECOND) GROUP BY window_end) B1 ON
  B.price = B1.maxprice WHERE B.date_time BETWEEN B1.date_time - INTERVAL '10' SECOND AND B1.date_time;

--: final
SELECT B.auction, B.price, B.bidder, B.date_time, B.extra FROM bid B JOIN (SELECT MAX(price) AS maxprice,
  window_end as date_time FROM TUMBLE(bid, date_time, INTERVAL '10' SECOND) GROUP BY window_end) B1 ON
  B.price = B1.maxprice WHERE B.date_time BETWEEN B1.date_time - INTERVAL '10' SECOND AND B1.date_time;

--: final
SELECT auction, price, bidder, date_time, extra FROM (SELECT *, RANK() OVER (PARTITION BY window_start,
  window_end ORDER BY price DESC) AS r FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL '10'
  SECOND))) WHERE r <= 1;

--:
SELECT auction, price, bidder, date_time, extra FROM bid QUALIFY RANK() OVER (PARTITION BY
  window(date_time, '10 seconds') ORDER BY price DESC) = 1;

--: ms
SELECT auction, price, bidder, date_time, extra FROM bid QUALIFY price = MAX(price) OVER (PARTITION BY
  date_time DIV 10000);

--: ms final
SELECT b.auction, b.price, b.bidder, b.date_time, b.extra FROM bid b JOIN (SELECT date_time - date_time %
  10000 AS w, MAX(price) AS m FROM bid GROUP BY date_time - date_time % 10000) x ON b.date_time -
  b.date_time % 10000 = x.w AND b.price = x.m;

--: unbounded
SELECT b.auction, b.price, b.bidder, b.date_time, b.extra FROM bid b WHERE (window(b.date_time, '10
  seconds').start, b.price) IN (SELECT window.start, MAX(price) FROM bid GROUP BY window(date_time, '10
  seconds'));

--:
SELECT b.auction, b.price, b.bidder, b.date_time, b.extra FROM bid b WHERE NOT EXISTS (SELECT 1 FROM bid c
  WHERE c.price > b.price AND unix_seconds(c.date_time) DIV 10 = unix_seconds(b.date_time) DIV 10);

--: final unbounded
SELECT b.auction, b.price, b.bidder, b.date_time, b.extra FROM bid b WHERE NOT EXISTS (SELECT 1 FROM bid c
  WHERE c.price > b.price AND floor(unix_millis(c.date_time) / 10000) = floor(unix_millis(b.date_time) /
  10000));

--: final flat
SELECT B.auction, B.price, B.bidder, B.date_time, B.extra FROM bid B JOIN (SELECT MAX(price) AS maxprice,
  window_end as date_time FROM TUMBLE(bid, date_time, INTERVAL '10' SECOND) GROUP BY window_end) B1 ON
  B.price = B1.maxprice WHERE B.date_time BETWEEN B1.date_time - INTERVAL '10' SECOND AND B1.date_time;

--: final camel
SELECT B.auction, B.price, B.bidder, B.`dateTime`, B.extra from bid B JOIN (SELECT MAX(price) AS maxprice,
  window_end as `dateTime` FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)) GROUP
  BY window_start, window_end) B1 ON B.price = B1.maxprice WHERE B.`dateTime` BETWEEN B1.`dateTime` -
  INTERVAL '10' SECOND AND B1.`dateTime`;

--: final ms
SELECT b.auction, b.price, b.bidder, b.date_time, b.extra FROM bid b, (SELECT window.end AS e, MAX(price)
  AS m FROM bid GROUP BY window(date_time, 10000)) x WHERE b.price = x.m AND b.date_time BETWEEN x.e - 10000
  AND x.e;

--: ms
SELECT b.auction, b.price, b.bidder, b.date_time, b.extra FROM bid b, (SELECT (date_time DIV 10000 + 1) *
  10000 AS e, MAX(price) AS m FROM bid GROUP BY 1) x WHERE b.price = x.m AND b.date_time >= x.e - 10000 AND
  b.date_time <= x.e;

--: final
SELECT auction, price, bidder, date_time, extra FROM (SELECT b.*, DENSE_RANK() OVER (PARTITION BY
  time_bucket(INTERVAL '10 seconds', date_time) ORDER BY price DESC) AS r FROM bid b) WHERE r = 1;

--: final
SELECT auction, price, bidder, date_time, extra FROM (SELECT b.*, DENSE_RANK() OVER (PARTITION BY
  date_bin(INTERVAL '10 seconds', date_time, TIMESTAMP '1970-01-01') ORDER BY price DESC) AS r FROM bid b)
  WHERE r = 1;
