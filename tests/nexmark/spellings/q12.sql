--: final
SELECT B.bidder, count(*) as bid_count, TUMBLE_START(B.p_time, INTERVAL '10' SECOND) as starttime,
  TUMBLE_END(B.p_time, INTERVAL '10' SECOND) as endtime FROM (SELECT *, date_time as p_time FROM bid) B
  GROUP BY B.bidder, TUMBLE(B.p_time, INTERVAL '10' SECOND);

--: final
SELECT bidder, count(*) as bid_count, window_start AS starttime, window_end AS endtime FROM
  TABLE(TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL '10' SECOND)) GROUP BY bidder, window_start,
  window_end;

--: ms final
SELECT bidder, count(*), date_time DIV 10000 * 10000 AS s, (date_time DIV 10000 + 1) * 10000 AS e FROM bid
  GROUP BY bidder, date_time DIV 10000;

--: ms
SELECT bidder, count(*), 10000 * (date_time DIV 10000) AS s, 10000 * (date_time DIV 10000) + 10000 AS e
  FROM bid GROUP BY bidder, 10000 * (date_time DIV 10000);

--: ms final
SELECT bidder, count(*), s, s + 10000 AS e FROM (SELECT bidder, CAST(floor(date_time / 10000) AS BIGINT) *
  10000 AS s FROM bid) GROUP BY bidder, s;

--: final
SELECT bidder, count(*), timestamp_seconds(unix_seconds(date_time) DIV 10 * 10) AS s,
  timestamp_seconds(unix_seconds(date_time) DIV 10 * 10 + 10) AS e FROM bid GROUP BY bidder,
  unix_seconds(date_time) DIV 10;

--:
SELECT bidder, count(*), s, s + INTERVAL '10 seconds' AS e FROM (SELECT bidder, time_bucket('10 seconds',
  date_time) AS s FROM bid) GROUP BY ALL;

--: final
SELECT bidder, count(*), s, s + INTERVAL '10 seconds' AS e FROM (SELECT bidder, date_bin('10 seconds',
  date_time, TIMESTAMP '1970-01-01 00:00:00') AS s FROM bid) GROUP BY bidder, s;

--: flat final
SELECT bidder, count(*), window.start, window.end FROM bid GROUP BY bidder, window(date_time, '10
  seconds');
