INSERT INTO v1 SELECT $number, auction, bidder, 0.908 * price, date_time, extra FROM bid WHERE price >= $low AND price < $high;
INSERT INTO v2 SELECT $number, auction, price FROM bid WHERE MOD(auction, 123000) = 123 * $number;
INSERT INTO v3 SELECT $number, p.name, p.city, p.state, a.id FROM auction a INNER JOIN person p ON a.seller = p.id
  WHERE a.category = $category AND p.state = '$state' AND MOD(p.id, 1000) >= $number AND MOD(p.id, 1000) < $number + 30;
INSERT INTO v7 SELECT $number, b.auction, b.price, b.bidder, b.date_time
  FROM bid b JOIN (
    SELECT MAX(price) AS maxprice, window_end AS date_time
    FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL '$clock' MINUTE TO SECOND)) GROUP BY window_start, window_end
  ) m ON b.price = m.maxprice
  WHERE b.date_time BETWEEN m.date_time - INTERVAL '$clock' MINUTE TO SECOND AND m.date_time;
INSERT INTO v8 SELECT $number, p.id, p.name, p.starttime
  FROM (
    SELECT id, name, window_start AS starttime, window_end AS endtime
    FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(date_time), INTERVAL '$short' SECOND)) WHERE MOD(id, 1000) = $number
    GROUP BY id, name, window_start, window_end
  ) p
  JOIN (
    SELECT seller, window_start AS starttime, window_end AS endtime
    FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(date_time), INTERVAL '$short' SECOND))
    GROUP BY seller, window_start, window_end
  ) a ON p.id = a.seller AND p.starttime = a.starttime AND p.endtime = a.endtime;
INSERT INTO v11 SELECT $number, bidder, COUNT(*), window_start
  FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(date_time), INTERVAL '$short' SECOND))
  WHERE MOD(bidder, 1000) = $number GROUP BY bidder, window_start, window_end;
INSERT INTO v12 SELECT $number, bidder, COUNT(*), window_start
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL '$short' SECOND))
  WHERE MOD(bidder, 1000) = $number GROUP BY bidder, window_start, window_end;
INSERT INTO v14 SELECT $number, auction, bidder, 0.908 * price, date_time, extra,
    CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', ''))
  FROM bid
  WHERE price >= $low AND price < $high AND 0.908 * price > 1000000 AND 0.908 * price < 50000000;
INSERT INTO v17 SELECT $number, auction, DATE_FORMAT(date_time, 'yyyy-MM-dd'), COUNT(*), MIN(price), MAX(price), SUM(price)
  FROM bid WHERE MOD(auction, 1000) = $number GROUP BY auction, DATE_FORMAT(date_time, 'yyyy-MM-dd');
INSERT INTO v20 SELECT $number, b.auction, b.bidder, b.price, a.item_name, a.category
  FROM bid b INNER JOIN auction a ON b.auction = a.id WHERE a.category = $category AND MOD(b.bidder, 200) = $part;
