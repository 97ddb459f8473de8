--: final
SELECT auction, TO_CHAR(date_time, 'yyyy-MM-dd') AS day, SUM(CASE WHEN TRUE THEN 1 ELSE 0 END) AS c0,
  SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS c1, SUM(CASE WHEN price >= 10000 AND price < 1000000
  THEN 1 ELSE 0 END) AS c2, SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS c3, MIN(price) AS c4,
  MAX(price) AS c5, AVG(price) AS c6, SUM(price) AS c7 FROM bid GROUP BY auction, TO_CHAR(date_time,
  'yyyy-MM-dd');

--:
SELECT auction, day, SUM(CASE WHEN TRUE THEN 1 ELSE 0 END) AS c0, SUM(CASE WHEN price < 10000 THEN 1 ELSE
  0 END) AS c1, SUM(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END) AS c2, SUM(CASE WHEN
  price >= 1000000 THEN 1 ELSE 0 END) AS c3, MIN(price) AS c4, MAX(price) AS c5, AVG(price) AS c6,
  SUM(price) AS c7 FROM (SELECT *, TO_CHAR(date_time, 'yyyy-MM-dd') AS day FROM bid) GROUP BY auction, day;

--: final
SELECT auction, to_date(date_time) AS day, SUM(CASE WHEN TRUE THEN 1 ELSE 0 END) AS c0, SUM(CASE WHEN
  price < 10000 THEN 1 ELSE 0 END) AS c1, SUM(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0
  END) AS c2, SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS c3, MIN(price) AS c4, MAX(price) AS c5,
  AVG(price) AS c6, SUM(price) AS c7 FROM bid GROUP BY auction, to_date(date_time);

--:
SELECT auction, day, SUM(CASE WHEN TRUE THEN 1 ELSE 0 END) AS c0, SUM(CASE WHEN price < 10000 THEN 1 ELSE
  0 END) AS c1, SUM(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END) AS c2, SUM(CASE WHEN
  price >= 1000000 THEN 1 ELSE 0 END) AS c3, MIN(price) AS c4, MAX(price) AS c5, AVG(price) AS c6,
  SUM(price) AS c7 FROM (SELECT *, to_date(date_time) AS day FROM bid) GROUP BY auction, day;

--: final
SELECT auction, date_time::DATE AS day, SUM(CASE WHEN TRUE THEN 1 ELSE 0 END) AS c0, SUM(CASE WHEN price <
  10000 THEN 1 ELSE 0 END) AS c1, SUM(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END) AS c2,
  SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS c3, MIN(price) AS c4, MAX(price) AS c5, AVG(price) AS
  c6, SUM(price) AS c7 FROM bid GROUP BY auction, date_time::DATE;

--:
SELECT auction, day, SUM(CASE WHEN TRUE THEN 1 ELSE 0 END) AS c0, SUM(CASE WHEN price < 10000 THEN 1 ELSE
  0 END) AS c1, SUM(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END) AS c2, SUM(CASE WHEN
  price >= 1000000 THEN 1 ELSE 0 END) AS c3, MIN(price) AS c4, MAX(price) AS c5, AVG(price) AS c6,
  SUM(price) AS c7 FROM (SELECT *, date_time::DATE AS day FROM bid) GROUP BY auction, day;

--: final
SELECT auction, date_format(window(date_time, '1 day').start, 'yyyy-MM-dd') AS day, SUM(CASE WHEN TRUE
  THEN 1 ELSE 0 END) AS c0, SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS c1, SUM(CASE WHEN price >=
  10000 AND price < 1000000 THEN 1 ELSE 0 END) AS c2, SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS
  c3, MIN(price) AS c4, MAX(price) AS c5, AVG(price) AS c6, SUM(price) AS c7 FROM bid GROUP BY auction,
  date_format(window(date_time, '1 day').start, 'yyyy-MM-dd');

--:
SELECT auction, day, SUM(CASE WHEN TRUE THEN 1 ELSE 0 END) AS c0, SUM(CASE WHEN price < 10000 THEN 1 ELSE
  0 END) AS c1, SUM(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END) AS c2, SUM(CASE WHEN
  price >= 1000000 THEN 1 ELSE 0 END) AS c3, MIN(price) AS c4, MAX(price) AS c5, AVG(price) AS c6,
  SUM(price) AS c7 FROM (SELECT *, date_format(window(date_time, '1 day').start, 'yyyy-MM-dd') AS day FROM
  bid) GROUP BY auction, day;
