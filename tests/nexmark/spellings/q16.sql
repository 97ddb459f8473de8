--: final
SELECT channel, TO_CHAR(date_time, 'yyyy-MM-dd') AS day, MAX(DATE_FORMAT(date_time, 'HH:mm')) AS minute,
  COUNT_IF(TRUE) AS c0, COUNT_IF(price < 10000) AS c1, COUNT_IF(price >= 10000 AND price < 1000000) AS c2,
  COUNT_IF(price >= 1000000) AS c3, COUNT(DISTINCT IF(TRUE, bidder, NULL)) AS c4, COUNT(DISTINCT IF(price <
  10000, bidder, NULL)) AS c5, COUNT(DISTINCT IF(price >= 10000 AND price < 1000000, bidder, NULL)) AS c6,
  COUNT(DISTINCT IF(price >= 1000000, bidder, NULL)) AS c7, COUNT(DISTINCT IF(TRUE, auction, NULL)) AS c8,
  COUNT(DISTINCT IF(price < 10000, auction, NULL)) AS c9, COUNT(DISTINCT IF(price >= 10000 AND price <
  1000000, auction, NULL)) AS c10, COUNT(DISTINCT IF(price >= 1000000, auction, NULL)) AS c11 FROM bid GROUP
  BY channel, TO_CHAR(date_time, 'yyyy-MM-dd');

--:
SELECT channel, TO_CHAR(date_time, 'yyyy-MM-dd') AS day, DATE_FORMAT(MAX(date_time), 'HH:mm') AS minute,
  COUNT_IF(TRUE) AS c0, COUNT_IF(price < 10000) AS c1, COUNT_IF(price >= 10000 AND price < 1000000) AS c2,
  COUNT_IF(price >= 1000000) AS c3, COUNT(DISTINCT IF(TRUE, bidder, NULL)) AS c4, COUNT(DISTINCT IF(price <
  10000, bidder, NULL)) AS c5, COUNT(DISTINCT IF(price >= 10000 AND price < 1000000, bidder, NULL)) AS c6,
  COUNT(DISTINCT IF(price >= 1000000, bidder, NULL)) AS c7, COUNT(DISTINCT IF(TRUE, auction, NULL)) AS c8,
  COUNT(DISTINCT IF(price < 10000, auction, NULL)) AS c9, COUNT(DISTINCT IF(price >= 10000 AND price <
  1000000, auction, NULL)) AS c10, COUNT(DISTINCT IF(price >= 1000000, auction, NULL)) AS c11 FROM bid GROUP
  BY TO_CHAR(date_time, 'yyyy-MM-dd'), channel;

--: final
SELECT channel, to_date(date_time) AS day, MAX(DATE_FORMAT(date_time, 'HH:mm')) AS minute, COUNT(*) AS c0,
  COUNT(*) FILTER (WHERE price < 10000) AS c1, COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS
  c2, COUNT(*) FILTER (WHERE price >= 1000000) AS c3, COUNT(DISTINCT bidder) AS c4, COUNT(DISTINCT bidder)
  FILTER (WHERE price < 10000) AS c5, COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price <
  1000000) AS c6, COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS c7, COUNT(DISTINCT auction) AS
  c8, COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS c9, COUNT(DISTINCT auction) FILTER (WHERE
  price >= 10000 AND price < 1000000) AS c10, COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS c11
  FROM bid GROUP BY channel, to_date(date_time);

--:
SELECT channel, to_date(date_time) AS day, DATE_FORMAT(MAX(date_time), 'HH:mm') AS minute, COUNT(*) AS c0,
  COUNT(*) FILTER (WHERE price < 10000) AS c1, COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS
  c2, COUNT(*) FILTER (WHERE price >= 1000000) AS c3, COUNT(DISTINCT bidder) AS c4, COUNT(DISTINCT bidder)
  FILTER (WHERE price < 10000) AS c5, COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price <
  1000000) AS c6, COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS c7, COUNT(DISTINCT auction) AS
  c8, COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS c9, COUNT(DISTINCT auction) FILTER (WHERE
  price >= 10000 AND price < 1000000) AS c10, COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS c11
  FROM bid GROUP BY to_date(date_time), channel;

--: final
SELECT channel, date_time::DATE AS day, MAX(DATE_FORMAT(date_time, 'HH:mm')) AS minute, SUM(CASE WHEN TRUE
  THEN 1 ELSE 0 END) AS c0, SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS c1, SUM(CASE WHEN price >=
  10000 AND price < 1000000 THEN 1 ELSE 0 END) AS c2, SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS
  c3, COUNT(DISTINCT CASE WHEN TRUE THEN bidder END) AS c4, COUNT(DISTINCT CASE WHEN price < 10000 THEN
  bidder END) AS c5, COUNT(DISTINCT CASE WHEN price >= 10000 AND price < 1000000 THEN bidder END) AS c6,
  COUNT(DISTINCT CASE WHEN price >= 1000000 THEN bidder END) AS c7, COUNT(DISTINCT CASE WHEN TRUE THEN
  auction ELSE NULL END) AS c8, COUNT(DISTINCT CASE WHEN price < 10000 THEN auction ELSE NULL END) AS c9,
  COUNT(DISTINCT CASE WHEN price >= 10000 AND price < 1000000 THEN auction ELSE NULL END) AS c10,
  COUNT(DISTINCT CASE WHEN price >= 1000000 THEN auction ELSE NULL END) AS c11 FROM bid GROUP BY channel,
  date_time::DATE;

--:
SELECT channel, date_time::DATE AS day, DATE_FORMAT(MAX(date_time), 'HH:mm') AS minute, SUM(CASE WHEN TRUE
  THEN 1 ELSE 0 END) AS c0, SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS c1, SUM(CASE WHEN price >=
  10000 AND price < 1000000 THEN 1 ELSE 0 END) AS c2, SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS
  c3, COUNT(DISTINCT CASE WHEN TRUE THEN bidder END) AS c4, COUNT(DISTINCT CASE WHEN price < 10000 THEN
  bidder END) AS c5, COUNT(DISTINCT CASE WHEN price >= 10000 AND price < 1000000 THEN bidder END) AS c6,
  COUNT(DISTINCT CASE WHEN price >= 1000000 THEN bidder END) AS c7, COUNT(DISTINCT CASE WHEN TRUE THEN
  auction ELSE NULL END) AS c8, COUNT(DISTINCT CASE WHEN price < 10000 THEN auction ELSE NULL END) AS c9,
  COUNT(DISTINCT CASE WHEN price >= 10000 AND price < 1000000 THEN auction ELSE NULL END) AS c10,
  COUNT(DISTINCT CASE WHEN price >= 1000000 THEN auction ELSE NULL END) AS c11 FROM bid GROUP BY
  date_time::DATE, channel;

--: final
SELECT channel, date_format(window(date_time, '1 day').start, 'yyyy-MM-dd') AS day,
  MAX(DATE_FORMAT(date_time, 'HH:mm')) AS minute, COUNT_IF(TRUE) AS c0, COUNT_IF(price < 10000) AS c1,
  COUNT_IF(price >= 10000 AND price < 1000000) AS c2, COUNT_IF(price >= 1000000) AS c3, COUNT(DISTINCT
  IF(TRUE, bidder, NULL)) AS c4, COUNT(DISTINCT IF(price < 10000, bidder, NULL)) AS c5, COUNT(DISTINCT
  IF(price >= 10000 AND price < 1000000, bidder, NULL)) AS c6, COUNT(DISTINCT IF(price >= 1000000, bidder,
  NULL)) AS c7, COUNT(DISTINCT IF(TRUE, auction, NULL)) AS c8, COUNT(DISTINCT IF(price < 10000, auction,
  NULL)) AS c9, COUNT(DISTINCT IF(price >= 10000 AND price < 1000000, auction, NULL)) AS c10, COUNT(DISTINCT
  IF(price >= 1000000, auction, NULL)) AS c11 FROM bid GROUP BY channel, date_format(window(date_time, '1
  day').start, 'yyyy-MM-dd');

--:
SELECT channel, date_format(window(date_time, '1 day').start, 'yyyy-MM-dd') AS day,
  DATE_FORMAT(MAX(date_time), 'HH:mm') AS minute, COUNT_IF(TRUE) AS c0, COUNT_IF(price < 10000) AS c1,
  COUNT_IF(price >= 10000 AND price < 1000000) AS c2, COUNT_IF(price >= 1000000) AS c3, COUNT(DISTINCT
  IF(TRUE, bidder, NULL)) AS c4, COUNT(DISTINCT IF(price < 10000, bidder, NULL)) AS c5, COUNT(DISTINCT
  IF(price >= 10000 AND price < 1000000, bidder, NULL)) AS c6, COUNT(DISTINCT IF(price >= 1000000, bidder,
  NULL)) AS c7, COUNT(DISTINCT IF(TRUE, auction, NULL)) AS c8, COUNT(DISTINCT IF(price < 10000, auction,
  NULL)) AS c9, COUNT(DISTINCT IF(price >= 10000 AND price < 1000000, auction, NULL)) AS c10, COUNT(DISTINCT
  IF(price >= 1000000, auction, NULL)) AS c11 FROM bid GROUP BY date_format(window(date_time, '1
  day').start, 'yyyy-MM-dd'), channel;
