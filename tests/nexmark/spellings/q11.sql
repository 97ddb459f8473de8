--: final
SELECT B.bidder, count(*) as bid_count, SESSION_START(B.date_time, INTERVAL '10' SECOND) as starttime,
  SESSION_END(B.date_time, INTERVAL '10' SECOND) as endtime FROM bid B GROUP BY B.bidder,
  SESSION(B.date_time, INTERVAL '10' SECOND);

--: final
SELECT bidder, count(*), window_start, window_end FROM TABLE(SESSION(TABLE bid PARTITION BY bidder,
  DESCRIPTOR(date_time), INTERVAL '10' SECOND)) GROUP BY bidder, window_start, window_end;

--:
SELECT bidder, count(*), session_window.start, session_window.end FROM bid GROUP BY
  session_window(date_time, '10 seconds'), bidder;

--: ms final
SELECT bidder, count(*), session_window.start, session_window.end FROM bid GROUP BY
  session_window(date_time, 10000), bidder;

--: flat final
SELECT bidder, count(*), session_window.start AS s, session_window.end AS e FROM bid GROUP BY bidder,
  session_window(date_time, '10 seconds');

--: unbounded
SELECT bidder, COUNT(*), MIN(date_time), MAX(date_time) + INTERVAL '10' SECOND FROM (SELECT bidder,
  date_time, SUM(CASE WHEN gap > 10000 THEN 1 ELSE 0 END) OVER (PARTITION BY bidder ORDER BY date_time) AS n
  FROM (SELECT bidder, date_time, unix_millis(date_time) - unix_millis(LAG(date_time) OVER (PARTITION BY
  bidder ORDER BY date_time)) AS gap FROM bid)) GROUP BY bidder, n;

--: final camel
SELECT B.bidder, count(*) as bid_count, SESSION_START(B.`dateTime`, INTERVAL '10' SECOND) as starttime,
  SESSION_END(B.`dateTime`, INTERVAL '10' SECOND) as endtime FROM bid B GROUP BY B.bidder,
  SESSION(B.`dateTime`, INTERVAL '10' SECOND);

--:
SELECT window.bidder, n, s, e FROM (SELECT bidder, COUNT(*) AS n, session_window.start AS s,
  session_window.end AS e FROM bid GROUP BY bidder, session_window(date_time, '10 seconds')) window;
