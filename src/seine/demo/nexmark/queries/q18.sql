-- Last bid of each bidder for each auction. Pairs of them never end, so nothing bounds it.
CREATE QUERY q18 WITH (unbounded = true) AS
  SELECT auction, bidder, price, channel, url, date_time, extra
  FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) AS rank_number FROM bid
  )
  WHERE rank_number <= 1;
