--:
SELECT id, item_name, description, initial_bid, reserve, date_time, expires, seller, category, extra,
  auction, bidder, price, bid_dateTime, bid_extra FROM (SELECT A.*, B.auction, B.bidder, B.price,
  B.date_time AS bid_dateTime, B.extra AS bid_extra, ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price
  DESC, B.date_time ASC) AS rownum FROM auction A, bid B WHERE A.id = B.auction AND B.date_time BETWEEN
  A.date_time AND A.expires) WHERE rownum <= 1;

--: camel
SELECT id, `itemName`, description, `initialBid`, reserve, `dateTime`, expires, seller, category, extra,
  auction, bidder, price, `bid_dateTime`, bid_extra FROM (SELECT A.*, B.auction, B.bidder, B.price,
  B.`dateTime` AS `bid_dateTime`, B.extra AS bid_extra, ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY
  B.price DESC, B.`dateTime` ASC) AS rownum FROM auction A, bid B WHERE A.id = B.auction AND B.`dateTime`
  BETWEEN A.`dateTime` AND A.expires) WHERE rownum <= 1;

--:
SELECT DISTINCT ON (a.id) a.*, b.auction, b.bidder, b.price, b.date_time AS bid_date_time, b.extra AS
  bid_extra FROM auction a JOIN bid b ON a.id = b.auction WHERE b.date_time BETWEEN a.date_time AND
  a.expires ORDER BY a.id, b.price DESC, b.date_time;

--:
SELECT a.*, b.auction, b.bidder, b.price, b.date_time AS bid_date_time, b.extra AS bid_extra FROM auction
  a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires QUALIFY ROW_NUMBER()
  OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time) = 1;

--: final
SELECT a.*, b.auction, b.bidder, b.price, b.date_time AS bid_date_time, b.extra AS bid_extra FROM auction
  a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires QUALIFY ROW_NUMBER()
  OVER (PARTITION BY a.id, a.expires ORDER BY b.price DESC, b.date_time) = 1;

--: bare
SELECT a.*, b.auction, b.bidder, b.price, b.date_time AS bid_date_time, b.extra AS bid_extra FROM auction
  a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires QUALIFY ROW_NUMBER()
  OVER (PARTITION BY a.id, a.expires ORDER BY b.price DESC, b.date_time) = 1;

--: bare unbounded
SELECT a.*, b.auction, b.bidder, b.price, b.date_time AS bid_date_time, b.extra AS bid_extra FROM auction
  a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires QUALIFY ROW_NUMBER()
  OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time) = 1;

--: ms
SELECT a.*, b.auction, b.bidder, b.price, b.date_time AS bid_date_time, b.extra AS bid_extra FROM auction
  a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires QUALIFY ROW_NUMBER()
  OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time) = 1;

--:
--= SELECT id, max(price) FROM bid b, auction a WHERE b.auction = a.id AND a.date_time <= b.date_time AND
--= b.date_time <= a.expires GROUP BY id
SELECT a.id, MAX(b.price) AS price FROM auction a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN
  a.date_time AND a.expires GROUP BY a.id;

--: final
--= SELECT id, max(price) FROM bid b, auction a WHERE b.auction = a.id AND a.date_time <= b.date_time AND
--= b.date_time <= a.expires GROUP BY id
SELECT a.id, MAX(b.price) AS price FROM auction a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN
  a.date_time AND a.expires GROUP BY a.id;

--: final
--= SELECT id, max(price) FROM bid b, auction a WHERE b.auction = a.id AND a.date_time <= b.date_time AND
--= b.date_time <= a.expires GROUP BY id
SELECT id, price FROM (SELECT a.id, a.expires, MAX(b.price) AS price FROM auction a JOIN bid b ON a.id =
  b.auction AND b.date_time BETWEEN a.date_time AND a.expires GROUP BY a.id, a.expires);

--: unbounded
--= SELECT id, (SELECT max(price) FROM bid b WHERE b.auction = a.id AND a.date_time <= b.date_time AND
--= b.date_time <= a.expires) FROM auction a
SELECT a.id, MAX(b.price) AS price FROM auction a LEFT JOIN bid b ON a.id = b.auction AND b.date_time
  BETWEEN a.date_time AND a.expires GROUP BY a.id, a.expires;

--: final unbounded
--= SELECT id, (SELECT max(price) FROM bid b WHERE b.auction = a.id AND a.date_time <= b.date_time AND
--= b.date_time <= a.expires) FROM auction a
SELECT a.id, MAX(b.price) AS price FROM auction a LEFT JOIN bid b ON a.id = b.auction AND b.date_time
  BETWEEN a.date_time AND a.expires GROUP BY a.id, a.expires;

--:
--= SELECT id, arg_max(bidder, (price, -epoch_ms(b.date_time))), max(price) FROM bid b, auction a WHERE
--= b.auction = a.id AND a.date_time <= b.date_time AND b.date_time <= a.expires GROUP BY id
SELECT a.id, max_by(b.bidder, b.price), MAX(b.price) AS price FROM auction a JOIN bid b ON a.id =
  b.auction AND b.date_time BETWEEN a.date_time AND a.expires GROUP BY a.id, a.expires;

--: unbounded
SELECT a.*, b.auction, b.bidder, b.price, b.date_time AS bid_date_time, b.extra AS bid_extra FROM auction
  a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires JOIN (SELECT a.id,
  MAX(b.price) AS top FROM auction a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND
  a.expires GROUP BY a.id) m ON m.id = a.id AND b.price = m.top;

--: final
SELECT id, item_name, description, initial_bid, reserve, date_time, expires, seller, category, extra,
  auction, bidder, price, bid_dateTime, bid_extra FROM (SELECT A.*, B.auction, B.bidder, B.price,
  B.date_time AS bid_dateTime, B.extra AS bid_extra, ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price
  DESC, B.date_time ASC) AS rownum FROM auction A, bid B WHERE A.id = B.auction AND B.date_time BETWEEN
  A.date_time AND A.expires) WHERE rownum <= 1;

--: final
SELECT DISTINCT ON (b.auction) a.*, b.auction, b.bidder, b.price, b.date_time AS bid_date_time, b.extra AS
  bid_extra FROM auction a JOIN bid b ON a.id = b.auction WHERE b.date_time BETWEEN a.date_time AND
  a.expires ORDER BY b.auction, b.price DESC, b.date_time;
