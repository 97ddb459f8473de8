--:
SELECT auction, bidder, 0.908 * price as price, CASE WHEN date_part('hour', date_time) BETWEEN 8 AND 18
  THEN 'dayTime' WHEN date_part('hour', date_time) NOT BETWEEN 7 AND 19 THEN 'nightTime' ELSE 'otherTime'
  END AS bidTimeType, date_time, extra, size(split(extra, 'c')) - 1 AS c_counts FROM bid WHERE 0.908 * price
  BETWEEN 1000000.001 AND 49999999.999;

--:
SELECT auction, bidder, price, CASE WHEN h BETWEEN 8 AND 18 THEN 'dayTime' WHEN h <= 6 OR h >= 20 THEN
  'nightTime' ELSE 'otherTime' END, date_time, extra, regexp_count(extra, 'c') FROM (SELECT auction, bidder,
  price * 0.908 AS price, hour(date_time) AS h, date_time, extra FROM bid) WHERE price > 1000000 AND price <
  50000000;

--: ms
SELECT auction, bidder, price, CASE WHEN h BETWEEN 8 AND 18 THEN 'dayTime' WHEN h <= 6 OR h >= 20 THEN
  'nightTime' ELSE 'otherTime' END AS t, date_time, extra, length(extra) - length(translate(extra, 'c', ''))
  AS c FROM (SELECT auction, bidder, price * 0.908 AS price, date_time DIV 3600000 % 24 AS h, date_time,
  extra FROM bid) WHERE price > 1000000 AND price < 50000000;

--:
SELECT auction, bidder, 0.908 * price AS price, IF(HOUR(date_time) >= 8 AND HOUR(date_time) <= 18,
  'dayTime', IF(HOUR(date_time) <= 6 OR HOUR(date_time) >= 20, 'nightTime', 'otherTime')) AS bid_time_type,
  date_time, extra, regexp_count(extra, '[c]') AS c_counts FROM bid WHERE 0.908 * price > 1e6 AND 0.908 *
  price < 5e7;

--:
SELECT auction, bidder, 0.908 * price as price, CASE WHEN EXTRACT(HOUR FROM date_time) BETWEEN 8 AND 18
  THEN 'dayTime' WHEN EXTRACT(HOUR FROM date_time) <= 6 OR EXTRACT(hour FROM date_time) >= 20 THEN
  'nightTime' ELSE 'otherTime' END AS bidTimeType, date_time, extra, CHAR_LENGTH(extra) -
  CHAR_LENGTH(REGEXP_REPLACE(extra, 'c', '')) AS c_counts FROM bid WHERE 0.908 * price > 1000000 AND 0.908 *
  price < 50000000;

--:
SELECT auction, bidder, 0.908 * price as price, CASE WHEN EXTRACT(HOUR FROM date_time) BETWEEN 8 AND 18
  THEN 'dayTime' WHEN EXTRACT(HOUR FROM date_time) <= 6 OR EXTRACT(hour FROM date_time) >= 20 THEN
  'nightTime' ELSE 'otherTime' END AS bidTimeType, date_time, extra, CARDINALITY(regexp_extract_all(extra,
  'c', 0)) AS c_counts FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;

--:
SELECT auction, bidder, 0.908 * price as price, CASE WHEN EXTRACT(HOUR FROM date_time) BETWEEN 8 AND 18
  THEN 'dayTime' WHEN EXTRACT(HOUR FROM date_time) <= 6 OR EXTRACT(hour FROM date_time) >= 20 THEN
  'nightTime' ELSE 'otherTime' END AS bidTimeType, date_time, extra, LENGTH(extra) - LENGTH(REPLACE(extra,
  'c')) AS c_counts FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;
