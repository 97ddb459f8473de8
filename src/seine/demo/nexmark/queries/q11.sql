-- User sessions: how many bids has each made in each session of activity?
CREATE QUERY q11 WITH (emit = 'final') AS
  SELECT bidder, COUNT(*) AS bid_count, session_window.start AS starttime, session_window.end AS endtime
  FROM bid
  GROUP BY bidder, session_window(date_time, INTERVAL '10' SECOND);
