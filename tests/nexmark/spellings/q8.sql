--: final
SELECT P.id, P.name, P.starttime FROM (SELECT P.id, P.name, TUMBLE_START(P.date_time, INTERVAL '10'
  SECOND) AS starttime, TUMBLE_END(P.date_time, INTERVAL '10' SECOND) AS endtime FROM person P GROUP BY
  P.id, P.name, TUMBLE(P.date_time, INTERVAL '10' SECOND)) P JOIN (SELECT A.seller,
  TUMBLE_START(A.date_time, INTERVAL '10' SECOND) AS starttime, TUMBLE_END(A.date_time, INTERVAL '10'
  SECOND) AS endtime FROM auction A GROUP BY A.seller, TUMBLE(A.date_time, INTERVAL '10' SECOND)) A ON P.id
  = A.seller AND P.starttime = A.starttime AND P.endtime = A.endtime;

--:
SELECT P.id, P.name, P.starttime FROM (SELECT P.id, P.name, TUMBLE_START(P.date_time, INTERVAL '10'
  SECOND) AS starttime, TUMBLE_END(P.date_time, INTERVAL '10' SECOND) AS endtime FROM person P GROUP BY
  P.id, P.name, TUMBLE(P.date_time, INTERVAL '10' SECOND)) P JOIN (SELECT A.seller,
  TUMBLE_START(A.date_time, INTERVAL '10' SECOND) AS starttime, TUMBLE_END(A.date_time, INTERVAL '10'
  SECOND) AS endtime FROM auction A GROUP BY A.seller, TUMBLE(A.date_time, INTERVAL '10' SECOND)) A ON P.id
  = A.seller AND P.starttime = A.starttime AND P.endtime = A.endtime;

--:
SELECT DISTINCT p.id, p.name, date_trunc('SECOND', timestamp_seconds(unix_seconds(p.date_time) DIV 10 *
  10)) AS s FROM person p JOIN auction a ON p.id = a.seller AND unix_seconds(p.date_time) DIV 10 * 10 =
  unix_seconds(a.date_time) DIV 10 * 10;

--: ms final
SELECT DISTINCT p.id, p.name, p.date_time - p.date_time % 10000 AS s FROM person p JOIN auction a ON p.id
  = a.seller AND p.date_time - p.date_time % 10000 = a.date_time - a.date_time % 10000;

--:
SELECT p.id, p.name, window(p.date_time, '10 seconds').start AS s FROM person p LEFT SEMI JOIN auction a
  ON p.id = a.seller AND window(p.date_time, '10 seconds') = window(a.date_time, '10 seconds');

--: final
SELECT p.id, p.name, window(p.date_time, '10 seconds').start AS s FROM person p WHERE EXISTS (SELECT *
  FROM auction a WHERE p.id = a.seller AND window(p.date_time, '10 seconds') = window(a.date_time, '10
  seconds'));

--: flat final
SELECT P.id, P.name, P.starttime FROM (SELECT P.id, P.name, window.start AS starttime FROM person P GROUP
  BY P.id, P.name, window(date_time, '10 seconds')) P JOIN (SELECT A.seller, window.start AS starttime FROM
  auction A GROUP BY A.seller, window(A.date_time, '10 seconds')) A ON P.id = A.seller AND P.starttime =
  A.starttime;

--: camelplain final
SELECT P.id, P.name, P.starttime FROM (SELECT id, name, window_start AS starttime, window_end AS endtime
  FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(dateTime), INTERVAL '10' SECOND)) GROUP BY id, name,
  window_start, window_end) P JOIN (SELECT seller, window_start AS starttime, window_end AS endtime FROM
  TABLE(TUMBLE(TABLE auction, DESCRIPTOR(dateTime), INTERVAL '10' SECOND)) GROUP BY seller, window_start,
  window_end) A ON P.id = A.seller AND P.starttime = A.starttime AND P.endtime = A.endtime;

--: unbounded
--= SELECT DISTINCT p.id, p.name FROM person p, auction a WHERE p.id = a.seller AND a.date_time BETWEEN
--= p.date_time AND p.date_time + INTERVAL 10 SECOND
SELECT DISTINCT p.id, p.name FROM person p, auction a WHERE p.id = a.seller AND a.date_time BETWEEN
  p.date_time AND p.date_time + INTERVAL '10' SECOND;

--: final
--= SELECT p.id, p.name, p.date_time, count(*) FROM person p, auction a WHERE p.id = a.seller AND
--= a.date_time BETWEEN p.date_time AND p.date_time + INTERVAL 10 SECOND GROUP BY ALL
SELECT p.id, p.name, p.date_time, COUNT(*) FROM person p, auction a WHERE p.id = a.seller AND a.date_time
  BETWEEN p.date_time AND p.date_time + INTERVAL '10' SECOND GROUP BY ALL;

--: final
SELECT P.id, P.name, P.starttime FROM (SELECT id, name, window_start AS starttime FROM TUMBLE(person,
  date_time, INTERVAL '10' SECOND) GROUP BY id, name, window_start) P JOIN (SELECT seller, window_start AS
  starttime FROM TUMBLE(auction, date_time, INTERVAL '10' SECOND) GROUP BY seller, window_start) A ON P.id =
  A.seller AND P.starttime = A.starttime;

--: final
SELECT id, name, s FROM (SELECT id, name, window(date_time, '10 seconds').start AS s FROM person INTERSECT
  SELECT p.id, p.name, window(a.date_time, '10 seconds').start AS s FROM auction a JOIN person p ON p.id =
  a.seller AND window(a.date_time, '10 seconds') = window(p.date_time, '10 seconds'));
