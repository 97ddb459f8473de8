CREATE QUERY q1_$number AS
  SELECT auction, bidder, 0.908 * price AS price, date_time, extra FROM bid WHERE price >= $low AND price < $high;
CREATE QUERY q2_$number AS
  SELECT auction, price FROM bid WHERE MOD(auction, 123000) = 123 * $number;
CREATE QUERY q3_$number WITH (unbounded = true) AS
  SELECT p.name, p.city, p.state, a.id FROM auction a INNER JOIN person p ON a.seller = p.id
  WHERE a.category = $category AND p.state = '$state' AND MOD(p.id, 1000) >= $number AND MOD(p.id, 1000) < $number + 30;
CREATE QUERY q7_$number WITH (emit = 'final') AS
  SELECT b.auction, b.price, b.bidder, b.date_time
  FROM bid b JOIN (
    SELECT MAX(price) AS maxprice, window.end AS date_time FROM bid GROUP BY window(date_time, '$long seconds')
  ) m ON b.price = m.maxprice
  WHERE b.date_time BETWEEN m.date_time - INTERVAL '$long' SECOND AND m.date_time;
CREATE QUERY q8_$number WITH (emit = 'final') AS
  SELECT p.id, p.name, p.starttime
  FROM (
    SELECT id, name, window.start AS starttime, window.end AS endtime FROM person WHERE MOD(id, 1000) = $number
    GROUP BY id, name, window(date_time, '$short seconds')
  ) p
  JOIN (
    SELECT seller, window.start AS starttime, window.end AS endtime FROM auction
    GROUP BY seller, window(date_time, '$short seconds')
  ) a ON p.id = a.seller AND p.starttime = a.starttime AND p.endtime = a.endtime;
CREATE QUERY q11_$number WITH (emit = 'final') AS
  SELECT bidder, COUNT(*) AS bid_count, session_window.start AS starttime FROM bid WHERE MOD(bidder, 1000) = $number
  GROUP BY bidder, session_window(date_time, '$short seconds');
CREATE QUERY q12_$number WITH (emit = 'final') AS
  SELECT bidder, COUNT(*) AS bid_count, window.start AS starttime FROM bid WHERE MOD(bidder, 1000) = $number
  GROUP BY bidder, window(date_time, '$short seconds');
CREATE QUERY q14_$number AS
  SELECT auction, bidder, 0.908 * price AS price, date_time, extra,
    LENGTH(extra) - LENGTH(REPLACE(extra, 'c', '')) AS c_counts
  FROM bid
  WHERE price >= $low AND price < $high AND 0.908 * price > 1000000 AND 0.908 * price < 50000000;
CREATE QUERY q17_$number AS
  SELECT auction, DATE_FORMAT(date_time, 'yyyy-MM-dd') AS `day`, COUNT(*) AS total_bids,
    MIN(price) AS min_price, MAX(price) AS max_price, SUM(price) AS sum_price
  FROM bid WHERE MOD(auction, 1000) = $number
  GROUP BY auction, DATE_FORMAT(date_time, 'yyyy-MM-dd');
CREATE QUERY q20_$number WITH (unbounded = true) AS
  SELECT b.auction, b.bidder, b.price, a.item_name, a.category
  FROM bid b INNER JOIN auction a ON b.auction = a.id
  WHERE a.category = $category AND MOD(b.bidder, 200) = $part;
