-- Average selling price by seller, over the last ten auctions that closed.
CREATE QUERY q6 WITH (unbounded = true) AS
  SELECT q.seller, AVG(q.final) OVER (
    PARTITION BY q.seller ORDER BY q.date_time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW
  ) AS average
  FROM (
    SELECT MAX(b.price) AS final, a.seller, MAX(b.date_time) AS date_time
    FROM auction a, bid b
    WHERE a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
    GROUP BY a.id, a.seller
  ) q;
