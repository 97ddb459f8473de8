--: unbounded
--= SELECT seller, avg(price) OVER (PARTITION BY seller ORDER BY bd, price ROWS 10 PRECEDING) FROM (SELECT
--= DISTINCT ON (a.id) a.id, seller, price, b.date_time bd FROM bid b, auction a WHERE b.auction = a.id AND
--= a.date_time <= b.date_time AND b.date_time <= a.expires ORDER BY a.id, price DESC, b.date_time)
SELECT Q.seller, AVG(Q.final) OVER (PARTITION BY Q.seller ORDER BY Q.date_time ROWS BETWEEN 10 PRECEDING
  AND CURRENT ROW) as avg FROM (SELECT ROW_NUMBER() OVER (PARTITION BY A.id, A.seller ORDER BY B.price DESC)
  as rank, A.seller, B.price as final, B.date_time FROM auction AS A, bid AS B WHERE A.id = B.auction and
  B.date_time between A.date_time and A.expires) AS Q WHERE Q.rank <= 1;

--: unbounded
SELECT seller, AVG(final) OVER w FROM (SELECT MAX(B.price) AS final, A.seller, MAX(B.date_time) AS
  date_time FROM auction AS A, bid AS B WHERE A.id = B.auction and B.date_time between A.date_time and
  A.expires GROUP BY A.id, A.seller) WINDOW w AS (PARTITION BY seller ORDER BY date_time ROWS 10 PRECEDING);

--: unbounded bare
SELECT seller, AVG(final) OVER w FROM (SELECT MAX(B.price) AS final, A.seller, MAX(B.date_time) AS
  date_time FROM auction AS A, bid AS B WHERE A.id = B.auction and B.date_time between A.date_time and
  A.expires GROUP BY A.id, A.seller) WINDOW w AS (PARTITION BY seller ORDER BY date_time ROWS 10 PRECEDING);

--: ms unbounded
SELECT seller, AVG(final) OVER (PARTITION BY seller ORDER BY t ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)
  FROM (SELECT A.id, MAX(B.price) AS final, A.seller, MAX(B.date_time) AS t FROM auction AS A JOIN bid AS B
  ON A.id = B.auction WHERE B.date_time between A.date_time and A.expires GROUP BY A.id, A.seller,
  A.expires);

--: unbounded
SELECT seller, SUM(final) OVER w / COUNT(*) OVER w FROM (SELECT A.id, MAX(B.price) AS final, A.seller,
  MAX(B.date_time) AS t FROM auction AS A JOIN bid AS B ON A.id = B.auction WHERE B.date_time between
  A.date_time and A.expires GROUP BY A.id, A.seller, A.expires) WINDOW w AS (PARTITION BY seller ORDER BY t
  ROWS BETWEEN 10 PRECEDING AND CURRENT ROW);

--: final
--= SELECT seller, e::DATE, avg(best) FROM (SELECT id, any_value(seller) seller, max(price) best,
--= any_value(expires) e FROM bid b, auction a WHERE b.auction = a.id AND a.date_time <= b.date_time AND
--= b.date_time <= a.expires GROUP BY id) GROUP BY seller, e::DATE
SELECT seller, date_format(expires, 'yyyy-MM-dd') AS d, AVG(final) FROM (SELECT a.id, a.seller, a.expires,
  MAX(b.price) AS final FROM auction a JOIN bid b ON a.id = b.auction WHERE b.date_time BETWEEN a.date_time
  AND a.expires GROUP BY a.id, a.seller, a.expires) GROUP BY seller, date_format(expires, 'yyyy-MM-dd');

--:
--= SELECT seller, e, avg(best) OVER (PARTITION BY seller, d ORDER BY e, best ROWS 10 PRECEDING) FROM
--= (SELECT id, any_value(seller) seller, max(price) best, any_value(expires) e, any_value(expires::DATE) d
--= FROM bid b, auction a WHERE b.auction = a.id AND a.date_time <= b.date_time AND b.date_time <= a.expires
--= GROUP BY id)
SELECT seller, expires, AVG(final) OVER (PARTITION BY seller, CAST(expires AS DATE) ORDER BY expires,
  final ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) FROM (SELECT a.id, a.seller, a.expires, MAX(b.price) AS
  final FROM auction a JOIN bid b ON a.id = b.auction WHERE b.date_time BETWEEN a.date_time AND a.expires
  GROUP BY a.id, a.seller, a.expires);

--: final
--= SELECT seller, e, avg(best) OVER (PARTITION BY seller, d ORDER BY e, best ROWS 10 PRECEDING) FROM
--= (SELECT id, any_value(seller) seller, max(price) best, any_value(expires) e, any_value(expires::DATE) d
--= FROM bid b, auction a WHERE b.auction = a.id AND a.date_time <= b.date_time AND b.date_time <= a.expires
--= GROUP BY id)
SELECT seller, expires, AVG(final) OVER (PARTITION BY seller, CAST(expires AS DATE) ORDER BY expires,
  final ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) FROM (SELECT a.id, a.seller, a.expires, MAX(b.price) AS
  final FROM auction a JOIN bid b ON a.id = b.auction WHERE b.date_time BETWEEN a.date_time AND a.expires
  GROUP BY a.id, a.seller, a.expires);
