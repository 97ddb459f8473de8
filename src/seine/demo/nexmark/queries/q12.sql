-- Bids of each user in ten seconds: of event time, where Nexmark has the time of processing.
CREATE QUERY q12 WITH (emit = 'final') AS
  SELECT bidder, COUNT(*) AS bid_count, window.start AS starttime, window.end AS endtime
  FROM bid
  GROUP BY bidder, window(date_time, '10 seconds');
