-- Selection: bids for some auctions.
CREATE QUERY q2 AS
  SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
