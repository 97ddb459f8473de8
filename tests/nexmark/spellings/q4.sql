--: unbounded
SELECT Q.category, AVG(Q.final) AS avg FROM (SELECT MAX(B.price) AS final, A.category FROM auction A, bid
  B WHERE A.id = B.auction AND B.date_time BETWEEN A.date_time AND A.expires GROUP BY A.id, A.category) Q
  GROUP BY Q.category;

--: unbounded bare
SELECT Q.category, AVG(Q.final) AS avg FROM (SELECT MAX(B.price) AS final, A.category FROM auction A, bid
  B WHERE A.id = B.auction AND B.date_time BETWEEN A.date_time AND A.expires GROUP BY A.id, A.category) Q
  GROUP BY Q.category;

--: unbounded
SELECT category, AVG(final) FROM (SELECT a.id, a.category, a.expires, MAX(b.price) AS final FROM auction a
  JOIN bid b ON a.id = b.auction WHERE b.date_time >= a.date_time AND b.date_time <= a.expires GROUP BY
  a.id, a.category, a.expires) GROUP BY category;

--: unbounded
WITH winning AS (SELECT a.id, a.category, b.price, ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price
  DESC, b.date_time) AS r FROM auction a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time
  AND a.expires) SELECT category, AVG(price) FROM winning WHERE r = 1 GROUP BY category;

--: final
--= SELECT category, e::DATE, avg(best) FROM (SELECT id, any_value(category) category, max(price) best,
--= any_value(expires) e FROM bid b, auction a WHERE b.auction = a.id AND a.date_time <= b.date_time AND
--= b.date_time <= a.expires GROUP BY id) GROUP BY category, e::DATE
SELECT category, CAST(expires AS DATE) AS d, AVG(final) FROM (SELECT a.id, a.category, a.expires,
  MAX(b.price) AS final FROM auction a JOIN bid b ON a.id = b.auction WHERE b.date_time BETWEEN a.date_time
  AND a.expires GROUP BY a.id, a.category, a.expires) GROUP BY category, CAST(expires AS DATE);

--:
--= SELECT category, e::DATE, avg(best) FROM (SELECT id, any_value(category) category, max(price) best,
--= any_value(expires) e FROM bid b, auction a WHERE b.auction = a.id AND a.date_time <= b.date_time AND
--= b.date_time <= a.expires GROUP BY id) GROUP BY category, e::DATE
SELECT category, CAST(expires AS DATE) AS d, AVG(final) FROM (SELECT a.id, a.category, a.expires,
  MAX(b.price) AS final FROM auction a JOIN bid b ON a.id = b.auction WHERE b.date_time BETWEEN a.date_time
  AND a.expires GROUP BY a.id, a.category, a.expires) GROUP BY category, CAST(expires AS DATE);

--: final unbounded
--= SELECT category, date_trunc('minute', e), avg(best) FROM (SELECT id, any_value(category) category,
--= max(price) best, any_value(a.date_time) e FROM bid b, auction a WHERE b.auction = a.id AND a.date_time
--= <= b.date_time AND b.date_time <= a.expires GROUP BY id) GROUP BY category, date_trunc('minute', e)
SELECT category, date_trunc('MINUTE', opened) AS d, AVG(final) FROM (SELECT a.id, a.category, a.expires,
  a.date_time AS opened, MAX(b.price) AS final FROM auction a JOIN bid b ON a.id = b.auction WHERE
  b.date_time BETWEEN a.date_time AND a.expires GROUP BY a.id, a.category, a.expires, a.date_time) GROUP BY
  category, date_trunc('MINUTE', opened);

--: ms unbounded
SELECT Q.category, AVG(Q.final) AS avg FROM (SELECT MAX(B.price) AS final, A.category FROM auction A, bid
  B WHERE A.id = B.auction AND B.date_time BETWEEN A.date_time AND A.expires GROUP BY A.id, A.category) Q
  GROUP BY Q.category;

--: flat unbounded
SELECT Q.category, AVG(Q.final) AS avg FROM (SELECT MAX(B.price) AS final, A.category FROM auction A, bid
  B WHERE A.id = B.auction AND B.date_time BETWEEN A.date_time AND A.expires GROUP BY A.id, A.category) Q
  GROUP BY Q.category;

--: final
--= SELECT category, e, avg(best) FROM (SELECT id, any_value(category) category, max(price) best,
--= any_value(time_bucket(INTERVAL 10 SECOND, expires)) e FROM bid b, auction a WHERE b.auction = a.id AND
--= a.date_time <= b.date_time AND b.date_time <= a.expires GROUP BY id) GROUP BY category, e
SELECT category, window.start AS d, AVG(final) FROM (SELECT a.id, a.category, a.expires, MAX(b.price) AS
  final FROM auction a JOIN bid b ON a.id = b.auction WHERE b.date_time BETWEEN a.date_time AND a.expires
  GROUP BY a.id, a.category, a.expires) GROUP BY category, window(expires, '10 seconds');

--: unbounded
SELECT category, AVG(price) FROM (SELECT DISTINCT ON (a.id) a.id, a.category, b.price FROM auction a, bid
  b WHERE a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires ORDER BY a.id, b.price DESC) w
  GROUP BY category;

--: unbounded
SELECT category, AVG(final) FROM (SELECT a.id, a.category, a.expires, MAX(b.price) AS final FROM auction a
  JOIN bid b ON a.id = b.auction AND a.date_time <= b.date_time AND NOT b.date_time > a.expires GROUP BY 1,
  2, 3) GROUP BY 1;
