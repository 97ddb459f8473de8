--: unbounded
SELECT auction, bidder, price, channel, url, b.date_time AS bid_date_time, b.extra AS bid_extra,
  item_name, description, initial_bid, reserve, a.date_time AS auction_date_time, expires, seller, category,
  a.extra AS auction_extra FROM bid AS b INNER JOIN auction AS a on b.auction = a.id WHERE a.category = 10;

--: unbounded bare
SELECT auction, bidder, price, channel, url, b.date_time AS bid_date_time, b.extra AS bid_extra,
  item_name, description, initial_bid, reserve, a.date_time AS auction_date_time, expires, seller, category,
  a.extra AS auction_extra FROM bid b, auction a WHERE b.auction = a.id AND a.category = 10;

--: unbounded
SELECT auction, bidder, price, channel, url, b.date_time AS bid_date_time, b.extra AS bid_extra,
  item_name, description, initial_bid, reserve, a.date_time AS auction_date_time, expires, seller, category,
  a.extra AS auction_extra FROM (SELECT * FROM auction WHERE category = 10) a JOIN bid b ON b.auction = a.id;

--: window
SELECT auction, bidder, price, channel, url, b.date_time AS bid_date_time, b.extra AS bid_extra,
  item_name, description, initial_bid, reserve, a.date_time AS auction_date_time, expires, seller, category,
  a.extra AS auction_extra FROM bid b JOIN auction a ON b.auction = a.id AND category = 10;

--:
SELECT auction, bidder, price, channel, url, b.date_time AS bid_date_time, b.extra AS bid_extra,
  item_name, description, initial_bid, reserve, a.date_time AS auction_date_time, expires, seller, category,
  a.extra AS auction_extra FROM bid b WINDOW INTERVAL '1' DAY JOIN auction a WINDOW INTERVAL '1' DAY ON
  b.auction = a.id AND category = 10;

--: unbounded ms
WITH a AS (SELECT * FROM auction WHERE category = 10), b AS (SELECT * FROM bid) SELECT auction, bidder,
  price, channel, url, b.date_time AS bid_date_time, b.extra AS bid_extra, item_name, description,
  initial_bid, reserve, a.date_time AS auction_date_time, expires, seller, category, a.extra AS
  auction_extra FROM b JOIN a ON b.auction = a.id;

--: unbounded flat
SELECT auction, bidder, price, channel, url, b.date_time AS bid_date_time, b.extra AS bid_extra,
  item_name, description, initial_bid, reserve, a.date_time AS auction_date_time, expires, seller, category,
  a.extra AS auction_extra FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10;

--: unbounded
SELECT auction, bidder, price, channel, url, b.date_time AS bid_date_time, b.extra AS bid_extra,
  item_name, description, initial_bid, reserve, a.date_time AS auction_date_time, expires, seller, category,
  a.extra AS auction_extra FROM bid b RIGHT JOIN auction a ON b.auction = a.id WHERE a.category = 10 AND
  b.auction IS NOT NULL;

--:
--= SELECT auction, bidder, price, channel, url, b.date_time, b.extra, item_name, description, initial_bid,
--= reserve, a.date_time, expires, seller, category, a.extra FROM auction a, bid b WHERE a.id = b.auction
--= AND category = 10 AND b.date_time BETWEEN a.date_time AND a.expires
SELECT auction, bidder, price, channel, url, b.date_time AS bid_date_time, b.extra AS bid_extra,
  item_name, description, initial_bid, reserve, a.date_time AS auction_date_time, expires, seller, category,
  a.extra AS auction_extra FROM bid b JOIN auction a ON b.auction = a.id AND b.date_time BETWEEN a.date_time
  AND a.expires WHERE a.category = 10;

--:
--= SELECT auction, bidder, price, channel, url, b.date_time, b.extra, item_name, description, initial_bid,
--= reserve, a.date_time, expires, seller, category, a.extra FROM auction a, bid b WHERE a.id = b.auction
--= AND category = 10 AND b.date_time >= a.date_time AND b.date_time <= a.date_time + INTERVAL 1 MINUTE
SELECT auction, bidder, price, channel, url, b.date_time AS bid_date_time, b.extra AS bid_extra,
  item_name, description, initial_bid, reserve, a.date_time AS auction_date_time, expires, seller, category,
  a.extra AS auction_extra FROM bid b LEFT JOIN auction a ON b.auction = a.id AND a.date_time BETWEEN
  b.date_time - INTERVAL '1' MINUTE AND b.date_time WHERE a.category = 10;
