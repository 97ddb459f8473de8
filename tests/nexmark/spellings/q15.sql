--: final
SELECT TO_CHAR(date_time, 'yyyy-MM-dd') AS day, COUNT(*) AS c0, COUNT(*) FILTER (WHERE price < 10000) AS
  c1, COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS c2, COUNT(*) FILTER (WHERE price >=
  1000000) AS c3, COUNT(DISTINCT bidder) AS c4, COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS c5,
  COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS c6, COUNT(DISTINCT bidder)
  FILTER (WHERE price >= 1000000) AS c7, COUNT(DISTINCT auction) AS c8, COUNT(DISTINCT auction) FILTER
  (WHERE price < 10000) AS c9, COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS
  c10, COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS c11 FROM bid GROUP BY TO_CHAR(date_time,
  'yyyy-MM-dd');

--:
SELECT CAST(CAST(date_time AS DATE) AS STRING) AS day, SUM(CASE WHEN TRUE THEN 1 ELSE 0 END) AS c0,
  SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS c1, SUM(CASE WHEN price >= 10000 AND price < 1000000
  THEN 1 ELSE 0 END) AS c2, SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS c3, COUNT(DISTINCT CASE
  WHEN TRUE THEN bidder END) AS c4, COUNT(DISTINCT CASE WHEN price < 10000 THEN bidder END) AS c5,
  COUNT(DISTINCT CASE WHEN price >= 10000 AND price < 1000000 THEN bidder END) AS c6, COUNT(DISTINCT CASE
  WHEN price >= 1000000 THEN bidder END) AS c7, COUNT(DISTINCT CASE WHEN TRUE THEN auction ELSE NULL END) AS
  c8, COUNT(DISTINCT CASE WHEN price < 10000 THEN auction ELSE NULL END) AS c9, COUNT(DISTINCT CASE WHEN
  price >= 10000 AND price < 1000000 THEN auction ELSE NULL END) AS c10, COUNT(DISTINCT CASE WHEN price >=
  1000000 THEN auction ELSE NULL END) AS c11 FROM bid GROUP BY CAST(CAST(date_time AS DATE) AS STRING);

--: final
SELECT CAST(date_trunc('DAY', date_time) AS DATE) AS day, COUNT_IF(TRUE) AS c0, COUNT_IF(price < 10000) AS
  c1, COUNT_IF(price >= 10000 AND price < 1000000) AS c2, COUNT_IF(price >= 1000000) AS c3, COUNT(DISTINCT
  IF(TRUE, bidder, NULL)) AS c4, COUNT(DISTINCT IF(price < 10000, bidder, NULL)) AS c5, COUNT(DISTINCT
  IF(price >= 10000 AND price < 1000000, bidder, NULL)) AS c6, COUNT(DISTINCT IF(price >= 1000000, bidder,
  NULL)) AS c7, COUNT(DISTINCT IF(TRUE, auction, NULL)) AS c8, COUNT(DISTINCT IF(price < 10000, auction,
  NULL)) AS c9, COUNT(DISTINCT IF(price >= 10000 AND price < 1000000, auction, NULL)) AS c10, COUNT(DISTINCT
  IF(price >= 1000000, auction, NULL)) AS c11 FROM bid GROUP BY CAST(date_trunc('DAY', date_time) AS DATE);

--:
SELECT to_date(date_time) AS day, COUNT(*) AS c0, COUNT(*) FILTER (WHERE price < 10000) AS c1, COUNT(*)
  FILTER (WHERE price >= 10000 AND price < 1000000) AS c2, COUNT(*) FILTER (WHERE price >= 1000000) AS c3,
  COUNT(DISTINCT bidder) AS c4, COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS c5, COUNT(DISTINCT
  bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS c6, COUNT(DISTINCT bidder) FILTER (WHERE
  price >= 1000000) AS c7, COUNT(DISTINCT auction) AS c8, COUNT(DISTINCT auction) FILTER (WHERE price <
  10000) AS c9, COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS c10,
  COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS c11 FROM bid GROUP BY to_date(date_time);

--: final
SELECT substring(CAST(date_time AS STRING), 1, 10) AS day, SUM(CASE WHEN TRUE THEN 1 ELSE 0 END) AS c0,
  SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS c1, SUM(CASE WHEN price >= 10000 AND price < 1000000
  THEN 1 ELSE 0 END) AS c2, SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS c3, COUNT(DISTINCT CASE
  WHEN TRUE THEN bidder END) AS c4, COUNT(DISTINCT CASE WHEN price < 10000 THEN bidder END) AS c5,
  COUNT(DISTINCT CASE WHEN price >= 10000 AND price < 1000000 THEN bidder END) AS c6, COUNT(DISTINCT CASE
  WHEN price >= 1000000 THEN bidder END) AS c7, COUNT(DISTINCT CASE WHEN TRUE THEN auction ELSE NULL END) AS
  c8, COUNT(DISTINCT CASE WHEN price < 10000 THEN auction ELSE NULL END) AS c9, COUNT(DISTINCT CASE WHEN
  price >= 10000 AND price < 1000000 THEN auction ELSE NULL END) AS c10, COUNT(DISTINCT CASE WHEN price >=
  1000000 THEN auction ELSE NULL END) AS c11 FROM bid GROUP BY substring(CAST(date_time AS STRING), 1, 10);

--:
SELECT date_format(date_trunc('DAY', date_time), 'yyyy-MM-dd') AS day, COUNT_IF(TRUE) AS c0,
  COUNT_IF(price < 10000) AS c1, COUNT_IF(price >= 10000 AND price < 1000000) AS c2, COUNT_IF(price >=
  1000000) AS c3, COUNT(DISTINCT IF(TRUE, bidder, NULL)) AS c4, COUNT(DISTINCT IF(price < 10000, bidder,
  NULL)) AS c5, COUNT(DISTINCT IF(price >= 10000 AND price < 1000000, bidder, NULL)) AS c6, COUNT(DISTINCT
  IF(price >= 1000000, bidder, NULL)) AS c7, COUNT(DISTINCT IF(TRUE, auction, NULL)) AS c8, COUNT(DISTINCT
  IF(price < 10000, auction, NULL)) AS c9, COUNT(DISTINCT IF(price >= 10000 AND price < 1000000, auction,
  NULL)) AS c10, COUNT(DISTINCT IF(price >= 1000000, auction, NULL)) AS c11 FROM bid GROUP BY
  date_format(date_trunc('DAY', date_time), 'yyyy-MM-dd');

--: final
SELECT left(date_format(date_time, 'yyyy-MM-dd HH:mm'), 10) AS day, COUNT(*) AS c0, COUNT(*) FILTER (WHERE
  price < 10000) AS c1, COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS c2, COUNT(*) FILTER
  (WHERE price >= 1000000) AS c3, COUNT(DISTINCT bidder) AS c4, COUNT(DISTINCT bidder) FILTER (WHERE price <
  10000) AS c5, COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS c6,
  COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS c7, COUNT(DISTINCT auction) AS c8,
  COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS c9, COUNT(DISTINCT auction) FILTER (WHERE price >=
  10000 AND price < 1000000) AS c10, COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS c11 FROM bid
  GROUP BY left(date_format(date_time, 'yyyy-MM-dd HH:mm'), 10);

--: final
SELECT date_time::DATE AS day, SUM(CASE WHEN TRUE THEN 1 ELSE 0 END) AS c0, SUM(CASE WHEN price < 10000
  THEN 1 ELSE 0 END) AS c1, SUM(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END) AS c2,
  SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS c3, COUNT(DISTINCT CASE WHEN TRUE THEN bidder END) AS
  c4, COUNT(DISTINCT CASE WHEN price < 10000 THEN bidder END) AS c5, COUNT(DISTINCT CASE WHEN price >= 10000
  AND price < 1000000 THEN bidder END) AS c6, COUNT(DISTINCT CASE WHEN price >= 1000000 THEN bidder END) AS
  c7, COUNT(DISTINCT CASE WHEN TRUE THEN auction ELSE NULL END) AS c8, COUNT(DISTINCT CASE WHEN price <
  10000 THEN auction ELSE NULL END) AS c9, COUNT(DISTINCT CASE WHEN price >= 10000 AND price < 1000000 THEN
  auction ELSE NULL END) AS c10, COUNT(DISTINCT CASE WHEN price >= 1000000 THEN auction ELSE NULL END) AS
  c11 FROM bid GROUP BY date_time::DATE;

--:
SELECT DATE(date_time) AS day, COUNT_IF(TRUE) AS c0, COUNT_IF(price < 10000) AS c1, COUNT_IF(price >=
  10000 AND price < 1000000) AS c2, COUNT_IF(price >= 1000000) AS c3, COUNT(DISTINCT IF(TRUE, bidder, NULL))
  AS c4, COUNT(DISTINCT IF(price < 10000, bidder, NULL)) AS c5, COUNT(DISTINCT IF(price >= 10000 AND price <
  1000000, bidder, NULL)) AS c6, COUNT(DISTINCT IF(price >= 1000000, bidder, NULL)) AS c7, COUNT(DISTINCT
  IF(TRUE, auction, NULL)) AS c8, COUNT(DISTINCT IF(price < 10000, auction, NULL)) AS c9, COUNT(DISTINCT
  IF(price >= 10000 AND price < 1000000, auction, NULL)) AS c10, COUNT(DISTINCT IF(price >= 1000000,
  auction, NULL)) AS c11 FROM bid GROUP BY DATE(date_time);

--: unbounded
SELECT EXTRACT(YEAR FROM date_time) || '-' || lpad(month(date_time), 2, '0') || '-' ||
  lpad(day(date_time), 2, '0') AS day, COUNT(*) AS c0, COUNT(*) FILTER (WHERE price < 10000) AS c1, COUNT(*)
  FILTER (WHERE price >= 10000 AND price < 1000000) AS c2, COUNT(*) FILTER (WHERE price >= 1000000) AS c3,
  COUNT(DISTINCT bidder) AS c4, COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS c5, COUNT(DISTINCT
  bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS c6, COUNT(DISTINCT bidder) FILTER (WHERE
  price >= 1000000) AS c7, COUNT(DISTINCT auction) AS c8, COUNT(DISTINCT auction) FILTER (WHERE price <
  10000) AS c9, COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS c10,
  COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS c11 FROM bid GROUP BY EXTRACT(YEAR FROM
  date_time) || '-' || lpad(month(date_time), 2, '0') || '-' || lpad(day(date_time), 2, '0');

--: unbounded
SELECT split_part(CAST(date_time AS STRING), ' ', 1) AS day, SUM(CASE WHEN TRUE THEN 1 ELSE 0 END) AS c0,
  SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS c1, SUM(CASE WHEN price >= 10000 AND price < 1000000
  THEN 1 ELSE 0 END) AS c2, SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS c3, COUNT(DISTINCT CASE
  WHEN TRUE THEN bidder END) AS c4, COUNT(DISTINCT CASE WHEN price < 10000 THEN bidder END) AS c5,
  COUNT(DISTINCT CASE WHEN price >= 10000 AND price < 1000000 THEN bidder END) AS c6, COUNT(DISTINCT CASE
  WHEN price >= 1000000 THEN bidder END) AS c7, COUNT(DISTINCT CASE WHEN TRUE THEN auction ELSE NULL END) AS
  c8, COUNT(DISTINCT CASE WHEN price < 10000 THEN auction ELSE NULL END) AS c9, COUNT(DISTINCT CASE WHEN
  price >= 10000 AND price < 1000000 THEN auction ELSE NULL END) AS c10, COUNT(DISTINCT CASE WHEN price >=
  1000000 THEN auction ELSE NULL END) AS c11 FROM bid GROUP BY split_part(CAST(date_time AS STRING), ' ', 1);

--: final
SELECT date_format(window(date_time, '1 day').start, 'yyyy-MM-dd') AS day, COUNT_IF(TRUE) AS c0,
  COUNT_IF(price < 10000) AS c1, COUNT_IF(price >= 10000 AND price < 1000000) AS c2, COUNT_IF(price >=
  1000000) AS c3, COUNT(DISTINCT IF(TRUE, bidder, NULL)) AS c4, COUNT(DISTINCT IF(price < 10000, bidder,
  NULL)) AS c5, COUNT(DISTINCT IF(price >= 10000 AND price < 1000000, bidder, NULL)) AS c6, COUNT(DISTINCT
  IF(price >= 1000000, bidder, NULL)) AS c7, COUNT(DISTINCT IF(TRUE, auction, NULL)) AS c8, COUNT(DISTINCT
  IF(price < 10000, auction, NULL)) AS c9, COUNT(DISTINCT IF(price >= 10000 AND price < 1000000, auction,
  NULL)) AS c10, COUNT(DISTINCT IF(price >= 1000000, auction, NULL)) AS c11 FROM bid GROUP BY
  date_format(window(date_time, '1 day').start, 'yyyy-MM-dd');

--: final
SELECT from_unixtime(unix_timestamp(date_time), 'yyyy-MM-dd') AS day, COUNT(*) AS c0, COUNT(*) FILTER
  (WHERE price < 10000) AS c1, COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS c2, COUNT(*)
  FILTER (WHERE price >= 1000000) AS c3, COUNT(DISTINCT bidder) AS c4, COUNT(DISTINCT bidder) FILTER (WHERE
  price < 10000) AS c5, COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS c6,
  COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS c7, COUNT(DISTINCT auction) AS c8,
  COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS c9, COUNT(DISTINCT auction) FILTER (WHERE price >=
  10000 AND price < 1000000) AS c10, COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS c11 FROM bid
  GROUP BY from_unixtime(unix_timestamp(date_time), 'yyyy-MM-dd');

--: final
SELECT date_sub(CAST(date_time AS DATE), 0) AS day, COUNT_IF(TRUE) AS c0, COUNT_IF(price < 10000) AS c1,
  COUNT_IF(price >= 10000 AND price < 1000000) AS c2, COUNT_IF(price >= 1000000) AS c3, COUNT(DISTINCT
  IF(TRUE, bidder, NULL)) AS c4, COUNT(DISTINCT IF(price < 10000, bidder, NULL)) AS c5, COUNT(DISTINCT
  IF(price >= 10000 AND price < 1000000, bidder, NULL)) AS c6, COUNT(DISTINCT IF(price >= 1000000, bidder,
  NULL)) AS c7, COUNT(DISTINCT IF(TRUE, auction, NULL)) AS c8, COUNT(DISTINCT IF(price < 10000, auction,
  NULL)) AS c9, COUNT(DISTINCT IF(price >= 10000 AND price < 1000000, auction, NULL)) AS c10, COUNT(DISTINCT
  IF(price >= 1000000, auction, NULL)) AS c11 FROM bid GROUP BY date_sub(CAST(date_time AS DATE), 0);

--: final
SELECT date_from_unix_date(unix_date(CAST(date_time AS DATE))) AS day, COUNT(*) AS c0, COUNT(*) FILTER
  (WHERE price < 10000) AS c1, COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS c2, COUNT(*)
  FILTER (WHERE price >= 1000000) AS c3, COUNT(DISTINCT bidder) AS c4, COUNT(DISTINCT bidder) FILTER (WHERE
  price < 10000) AS c5, COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS c6,
  COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS c7, COUNT(DISTINCT auction) AS c8,
  COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS c9, COUNT(DISTINCT auction) FILTER (WHERE price >=
  10000 AND price < 1000000) AS c10, COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS c11 FROM bid
  GROUP BY date_from_unix_date(unix_date(CAST(date_time AS DATE)));

--:
SELECT date_format(CAST(date_time AS DATE), 'yyyy-MM-dd') AS day, SUM(CASE WHEN TRUE THEN 1 ELSE 0 END) AS
  c0, SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS c1, SUM(CASE WHEN price >= 10000 AND price < 1000000
  THEN 1 ELSE 0 END) AS c2, SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS c3, COUNT(DISTINCT CASE
  WHEN TRUE THEN bidder END) AS c4, COUNT(DISTINCT CASE WHEN price < 10000 THEN bidder END) AS c5,
  COUNT(DISTINCT CASE WHEN price >= 10000 AND price < 1000000 THEN bidder END) AS c6, COUNT(DISTINCT CASE
  WHEN price >= 1000000 THEN bidder END) AS c7, COUNT(DISTINCT CASE WHEN TRUE THEN auction ELSE NULL END) AS
  c8, COUNT(DISTINCT CASE WHEN price < 10000 THEN auction ELSE NULL END) AS c9, COUNT(DISTINCT CASE WHEN
  price >= 10000 AND price < 1000000 THEN auction ELSE NULL END) AS c10, COUNT(DISTINCT CASE WHEN price >=
  1000000 THEN auction ELSE NULL END) AS c11 FROM bid GROUP BY date_format(CAST(date_time AS DATE),
  'yyyy-MM-dd');

--: final ms
SELECT date_format(timestamp_millis(date_time), 'yyyy-MM-dd') AS day, COUNT(*) AS c0, COUNT(*) FILTER
  (WHERE price < 10000) AS c1, COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS c2, COUNT(*)
  FILTER (WHERE price >= 1000000) AS c3, COUNT(DISTINCT bidder) AS c4, COUNT(DISTINCT bidder) FILTER (WHERE
  price < 10000) AS c5, COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS c6,
  COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS c7, COUNT(DISTINCT auction) AS c8,
  COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS c9, COUNT(DISTINCT auction) FILTER (WHERE price >=
  10000 AND price < 1000000) AS c10, COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS c11 FROM bid
  GROUP BY date_format(timestamp_millis(date_time), 'yyyy-MM-dd');

--: final ms
SELECT date_from_unix_date(CAST(date_time DIV 86400000 AS INT)) AS day, COUNT(*) AS c0, COUNT(*) FILTER
  (WHERE price < 10000) AS c1, COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS c2, COUNT(*)
  FILTER (WHERE price >= 1000000) AS c3, COUNT(DISTINCT bidder) AS c4, COUNT(DISTINCT bidder) FILTER (WHERE
  price < 10000) AS c5, COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS c6,
  COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS c7, COUNT(DISTINCT auction) AS c8,
  COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS c9, COUNT(DISTINCT auction) FILTER (WHERE price >=
  10000 AND price < 1000000) AS c10, COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS c11 FROM bid
  GROUP BY date_time DIV 86400000;

--: final flat
SELECT date_format(date_time, 'yyyy-MM-dd') AS day, COUNT(*) AS c0, COUNT(*) FILTER (WHERE price < 10000)
  AS c1, COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS c2, COUNT(*) FILTER (WHERE price >=
  1000000) AS c3, COUNT(DISTINCT bidder) AS c4, COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS c5,
  COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS c6, COUNT(DISTINCT bidder)
  FILTER (WHERE price >= 1000000) AS c7, COUNT(DISTINCT auction) AS c8, COUNT(DISTINCT auction) FILTER
  (WHERE price < 10000) AS c9, COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS
  c10, COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS c11 FROM bid GROUP BY 1;

--: final
SELECT d, COUNT(*) AS c0, COUNT(*) FILTER (WHERE price < 10000) AS c1, COUNT(*) FILTER (WHERE price >=
  10000 AND price < 1000000) AS c2, COUNT(*) FILTER (WHERE price >= 1000000) AS c3, COUNT(DISTINCT bidder)
  AS c4, COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS c5, COUNT(DISTINCT bidder) FILTER (WHERE
  price >= 10000 AND price < 1000000) AS c6, COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS c7,
  COUNT(DISTINCT auction) AS c8, COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS c9, COUNT(DISTINCT
  auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS c10, COUNT(DISTINCT auction) FILTER (WHERE
  price >= 1000000) AS c11 FROM (SELECT *, CAST(date_time AS DATE) AS d FROM bid) GROUP BY GROUPING SETS
  ((d));

--: final
SELECT CAST(window_start AS DATE), COUNT(*) AS c0, COUNT(*) FILTER (WHERE price < 10000) AS c1, COUNT(*)
  FILTER (WHERE price >= 10000 AND price < 1000000) AS c2, COUNT(*) FILTER (WHERE price >= 1000000) AS c3,
  COUNT(DISTINCT bidder) AS c4, COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS c5, COUNT(DISTINCT
  bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS c6, COUNT(DISTINCT bidder) FILTER (WHERE
  price >= 1000000) AS c7, COUNT(DISTINCT auction) AS c8, COUNT(DISTINCT auction) FILTER (WHERE price <
  10000) AS c9, COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS c10,
  COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS c11 FROM TUMBLE(bid, date_time, INTERVAL '1'
  DAY) GROUP BY window_start;

--: final
--= SELECT date_time::DATE, count(*) FROM bid GROUP BY 1
SELECT day, SUM(n) FROM (SELECT day, bidder, COUNT(*) AS n FROM (SELECT DATE_FORMAT(date_time,
  'yyyy-MM-dd') AS day, bidder FROM bid) GROUP BY day, bidder) GROUP BY day;

--: final
--= SELECT date_time::DATE, count(DISTINCT bidder) FROM bid GROUP BY 1
WITH d AS (SELECT DISTINCT DATE_FORMAT(date_time, 'yyyy-MM-dd') AS day, bidder FROM bid) SELECT day,
  COUNT(*) FROM d GROUP BY day;

--: final
--= SELECT d, count(*), count(DISTINCT who) FROM (SELECT date_time::DATE AS d, bidder AS who FROM bid UNION
--= ALL SELECT date_time::DATE, seller FROM auction) GROUP BY d
SELECT day, COUNT(*), COUNT(DISTINCT who) FROM (SELECT CAST(date_time AS DATE) AS day, bidder AS who FROM
  bid UNION ALL SELECT CAST(date_time AS DATE), seller FROM auction) GROUP BY day;

--: unbounded
--= SELECT date_time::DATE, min(price), max(price) FROM bid GROUP BY 1
SELECT day, MIN(price) AS c0, MAX(price) AS c1 FROM (SELECT date_add(DATE '1970-01-01',
  CAST(unix_seconds(date_time) DIV 86400 AS INT)) AS day, price FROM bid) GROUP BY day;
