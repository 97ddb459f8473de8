--: final
SELECT AuctionBids.auction, AuctionBids.num FROM (SELECT B1.auction, count(*) AS num,
  HOP_START(B1.date_time, INTERVAL '2' SECOND, INTERVAL '10' SECOND) AS starttime, HOP_END(B1.date_time,
  INTERVAL '2' SECOND, INTERVAL '10' SECOND) AS endtime FROM bid B1 GROUP BY B1.auction, HOP(B1.date_time,
  INTERVAL '2' SECOND, INTERVAL '10' SECOND)) AS AuctionBids JOIN (SELECT max(CountBids.num) AS maxn,
  CountBids.starttime, CountBids.endtime FROM (SELECT count(*) AS num, HOP_START(B2.date_time, INTERVAL '2'
  SECOND, INTERVAL '10' SECOND) AS starttime, HOP_END(B2.date_time, INTERVAL '2' SECOND, INTERVAL '10'
  SECOND) AS endtime FROM bid B2 GROUP BY B2.auction, HOP(B2.date_time, INTERVAL '2' SECOND, INTERVAL '10'
  SECOND)) AS CountBids GROUP BY CountBids.starttime, CountBids.endtime) AS MaxBids ON AuctionBids.starttime
  = MaxBids.starttime AND AuctionBids.endtime = MaxBids.endtime AND AuctionBids.num >= MaxBids.maxn;

--:
SELECT AuctionBids.auction, AuctionBids.num FROM (SELECT bid.auction, count(*) AS num, window_start AS
  starttime FROM HOP(bid, date_time, INTERVAL '2' SECOND, INTERVAL '10' SECOND) GROUP BY window_start,
  bid.auction) AS AuctionBids JOIN (SELECT max(CountBids.num) AS maxn, CountBids.starttime_c FROM (SELECT
  count(*) AS num, window_start AS starttime_c FROM HOP(bid, date_time, INTERVAL '2' SECOND, INTERVAL '10'
  SECOND) GROUP BY bid.auction, window_start) AS CountBids GROUP BY CountBids.starttime_c) AS MaxBids ON
  AuctionBids.starttime = MaxBids.starttime_c AND AuctionBids.num >= MaxBids.maxn;

--: final
WITH counts AS (SELECT auction, window, COUNT(*) AS num FROM bid GROUP BY auction, window(date_time, '10
  seconds', '2 seconds')) SELECT c.auction, c.num FROM counts c JOIN (SELECT window, MAX(num) AS m FROM
  counts GROUP BY window) x ON c.window = x.window AND c.num = x.m;

--:
WITH counts AS (SELECT auction, window, COUNT(*) AS num FROM bid GROUP BY auction, window(date_time, '10
  seconds', '2 seconds')) SELECT c.auction, c.num FROM counts c JOIN (SELECT window, MAX(num) AS m FROM
  counts GROUP BY window) x ON c.window = x.window AND c.num = x.m;

--: final ms
WITH counts AS (SELECT auction, window.start AS s, COUNT(*) AS num FROM bid GROUP BY auction,
  window(date_time, 10000, 2000)) SELECT auction, num FROM (SELECT *, RANK() OVER (PARTITION BY s ORDER BY
  num DESC) AS r FROM counts) WHERE r = 1;

--:
WITH counts AS (SELECT auction, window.start AS s, COUNT(*) AS num FROM bid GROUP BY auction,
  window(date_time, '10 seconds', '2 seconds')) SELECT auction, num FROM (SELECT *, RANK() OVER (PARTITION
  BY s ORDER BY num DESC) AS r FROM counts) WHERE r <= 1;

--: final
SELECT auction, num FROM (SELECT auction, window_start, window_end, COUNT(*) AS num, RANK() OVER
  (PARTITION BY window_start, window_end ORDER BY COUNT(*) DESC) AS r FROM TABLE(HOP(DATA => TABLE bid,
  TIMECOL => DESCRIPTOR(date_time), SLIDE => INTERVAL '2' SECOND, SIZE => INTERVAL '10' SECOND)) GROUP BY
  auction, window_start, window_end) WHERE r = 1;

--: flat final
WITH counts AS (SELECT auction, window, COUNT(*) AS num FROM bid GROUP BY auction, window(date_time, '10
  seconds', '2 seconds')) SELECT c.auction, c.num FROM counts c JOIN (SELECT window, MAX(num) AS m FROM
  counts GROUP BY window) x ON c.window = x.window AND c.num = x.m;

--: flat final
SELECT auction, num FROM (SELECT auction, window_start, COUNT(*) AS num, RANK() OVER (PARTITION BY
  window_start ORDER BY COUNT(*) DESC) AS r FROM TABLE(HOP(TABLE bid, DESCRIPTOR(date_time), INTERVAL '2'
  SECOND, INTERVAL '10' SECOND)) GROUP BY auction, window_start, window_end) WHERE r = 1;

--:
WITH counts AS (SELECT auction, window.end AS e, COUNT(*) AS num FROM bid GROUP BY auction,
  window(date_time, '10 seconds', '2 seconds')) SELECT c.auction, c.num FROM counts c WHERE NOT EXISTS
  (SELECT 1 FROM counts x WHERE x.e = c.e AND x.num > c.num);

--:
WITH counts AS (SELECT auction, window.end AS e, COUNT(*) AS num FROM bid GROUP BY auction,
  window(date_time, '10 seconds', '2 seconds')) SELECT c.auction, c.num FROM counts c LEFT ANTI JOIN counts
  x ON x.e = c.e AND x.num > c.num;
