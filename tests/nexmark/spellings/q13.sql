--:
SELECT B.auction, B.bidder, B.price, B.date_time, S.value FROM bid B JOIN side_input FOR SYSTEM_TIME AS OF
  B.date_time AS S ON mod(B.auction, 10000) = S.key;

--:
SELECT auction, bidder, price, date_time, value FROM bid, side_input WHERE auction % 10000 = key;

--:
SELECT auction, bidder, price, date_time, value FROM bid LEFT JOIN side_input s ON s.key = auction % 10000;

--:
SELECT b.auction, b.bidder, b.price, b.date_time, s.value FROM bid b JOIN side_input FOR SYSTEM_TIME AS OF
  PROCTIME() s ON mod(b.auction, 10000) = s.key;

--:
WITH k AS (SELECT *, auction % 10000 AS key FROM bid) SELECT auction, bidder, price, date_time, value FROM
  k JOIN side_input USING (key);

--:
WITH k AS (SELECT *, auction % 10000 AS key FROM bid) SELECT auction, bidder, price, date_time, value FROM
  k NATURAL JOIN side_input;

--:
SELECT /*+ BROADCAST(s) */ b.auction, b.bidder, b.price, b.date_time, s.value FROM bid b INNER JOIN
  side_input s ON (b.auction % 10000) = s.key;

--:
SELECT b.auction, b.bidder, b.price, b.date_time, s.value FROM bid b CROSS JOIN LATERAL (SELECT value FROM
  side_input WHERE key = b.auction % 10000) s;
