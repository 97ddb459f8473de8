-- An auction without windows: the house punctuates when an item, and when bidding for it, is over.
CREATE STREAM item (itemid BIGINT, name STRING, ts BIGINT) TIMESTAMP BY ts
  PUNCTUATED ON (itemid) FROM 'auction_item.jsonl';
CREATE STREAM bid (itemid BIGINT, bidder STRING, increase DOUBLE, ts BIGINT) TIMESTAMP BY ts
  PUNCTUATED ON (itemid) FROM 'auction_bid.jsonl';

CREATE QUERY sold WITH (emit = 'final') AS          -- each item once, when no bid can come any more
  SELECT i.itemid AS itemid, i.name AS name, COUNT(*) AS bids, SUM(b.increase) AS price
  FROM item i, bid b WHERE i.itemid = b.itemid
  GROUP BY i.itemid, i.name;
