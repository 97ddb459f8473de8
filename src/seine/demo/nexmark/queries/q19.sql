-- The ten highest bids of each auction, at any time so far.
CREATE QUERY q19 WITH (unbounded = true) AS
  SELECT *
  FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid
  )
  WHERE rank_number <= 10;
