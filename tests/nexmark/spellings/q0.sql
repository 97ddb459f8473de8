--: camel
SELECT auction, bidder, price, `dateTime`, extra FROM bid;

--: camelplain
SELECT B.auction, B.bidder, B.price, B.dateTime, B.extra FROM bid AS B;

--:
SELECT * EXCEPT (channel, url) FROM bid;

--:
WITH b AS (SELECT * FROM bid) SELECT auction, bidder, price, date_time, extra FROM b;

--: ms
SELECT "auction", "bidder", "price", "date_time", "extra" FROM "bid";

--: flat
SELECT auction, bidder, price, date_time, extra FROM bid;

--: flat
SELECT bid_auction, bid_bidder, bid_price, date_time, bid_extra FROM events WHERE event_type = 2;

--:
SELECT auction, bidder, price, date_time, extra FROM (SELECT ALL * FROM bid) AS x WHERE TRUE;

--:
SELECT * EXCLUDE (channel, url) FROM bid;
