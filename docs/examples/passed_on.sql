CREATE STREAM transfer (id BIGINT, sender STRING, receiver STRING, amount DOUBLE, day BIGINT)
  TIMESTAMP BY day WINDOW 20 FROM 'transfer.jsonl';

CREATE QUERY passed_on AS          -- big money arrives, and more than half of it moves on
  SELECT a.sender AS source, b.receiver AS target, b.amount AS amount
  FROM transfer a, transfer b
  WHERE a.receiver = b.sender AND a.amount > 1000000 AND b.amount > a.amount / 2 AND b.day > a.day;

CREATE QUERY corridor AS           -- between whom it moves, by way of others, and how much in 20 days
  SELECT x.sender AS source, y.receiver AS target, COUNT(*) AS times, SUM(y.amount) AS total
  FROM transfer x JOIN transfer y ON y.sender = x.receiver AND x.day < y.day
  WHERE 1000000 < x.amount AND y.amount > x.amount / 2
  GROUP BY x.sender, y.receiver;
