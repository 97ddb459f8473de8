--:
SELECT auction, bidder, price * 0.908 AS price, date_time, extra FROM bid;

--:
SELECT auction, bidder, CAST(price AS DOUBLE) * 0.908 AS price, date_time, extra FROM bid;

--:
SELECT auction, bidder, 0.908 * price::DECIMAL(20,3) AS price, date_time, extra FROM bid;

--: camel
SELECT auction, bidder, 0.908 * price as price,  `dateTime`, extra FROM bid;

--:
SELECT auction, bidder, price * 908 / 1000 AS price, date_time, extra FROM bid;

--:
SELECT auction, bidder, ROUND(price * 0.908, 3) AS price, date_time, extra FROM bid;

--: flat
WITH rate AS (SELECT 0.908 AS euro) SELECT auction, bidder, price * euro AS price, date_time, extra FROM
  bid, rate;

--:
SELECT auction, bidder, CAST(0.908 * price AS DECIMAL(23, 3)) AS price, date_time, extra FROM bid;

--:
SELECT auction, bidder, CAST(0.908 AS FLOAT8) * price AS price, date_time, extra FROM bid;
