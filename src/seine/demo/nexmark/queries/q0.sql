-- Pass through: every bid as it is.
CREATE QUERY q0 AS
  SELECT auction, bidder, price, date_time, extra FROM bid;
