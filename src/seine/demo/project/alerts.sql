-- One stream of transfers, and two standing queries over it. `seine try alerts.sql` shows their answers at once.
CREATE STREAM transfer (id BIGINT, sender STRING, receiver STRING, amount DOUBLE, day BIGINT)
  TIMESTAMP BY day WINDOW 20      -- a transfer counts from its day on, for 20 days
  FROM 'transfer.jsonl';

CREATE QUERY big AS               -- a selection: told as soon as it is read
  SELECT sender, receiver, amount FROM transfer WHERE amount > 1000000;

CREATE QUERY passed_on AS         -- big money arrives, and more than half of it moves on
  SELECT a.sender AS source, b.receiver AS target, b.amount AS amount
  FROM transfer a JOIN transfer b ON a.receiver = b.sender AND b.day > a.day
  WHERE a.amount > 1000000 AND b.amount > a.amount / 2;
