-- Alerts over FedWire-like money transfers: made-up data, with crime planted in it.
-- A transfer is alive for 20 days; files may be up to five minutes out of order.

CREATE STREAM transfer (
    tran_id BIGINT, type_code STRING, function_code STRING, amount DECIMAL(14,2), ts TIMESTAMP,
    sbank STRING, sacct BIGINT, originator STRING, scountry STRING,     -- who sends
    rbank STRING, racct BIGINT, beneficiary STRING, rcountry STRING,    -- who receives
    purpose STRING)
  TIMESTAMP BY ts
  WINDOW INTERVAL '20' DAY
  LATENESS INTERVAL '5' MINUTE
  FROM 'transfers.jsonl';

CREATE RELATION bank (aba STRING, name STRING, country STRING, risk INT) FROM 'banks.jsonl';

CREATE RELATION watchlist (account BIGINT, reason STRING, listed TIMESTAMP, cleared TIMESTAMP)
  VALID FROM listed TO cleared
  FROM 'watchlist.jsonl';

-- Selections -------------------------------------------------------------------------------------

CREATE QUERY large AS
  SELECT tran_id, sacct, racct, amount FROM transfer WHERE amount > 1000000;

CREATE QUERY very_large AS
  SELECT tran_id, originator, beneficiary, amount FROM transfer WHERE amount > 5000000;

CREATE QUERY round_sum AS
  SELECT tran_id, sacct, racct, amount FROM transfer WHERE amount >= 500000 AND amount % 100000 = 0;

CREATE QUERY just_below AS
  SELECT tran_id, sacct, racct, amount FROM transfer WHERE amount BETWEEN 9000 AND 9999.99;

CREATE QUERY at_night AS
  SELECT tran_id, sacct, amount, ts FROM transfer WHERE amount > 100000 AND HOUR(ts) < 10;

CREATE QUERY to_haven AS
  SELECT tran_id, sacct, racct, rcountry, amount FROM transfer
  WHERE amount > 250000 AND rcountry IN ('KY', 'PA', 'VG', 'CY') AND scountry NOT IN ('KY', 'PA', 'VG', 'CY');

CREATE QUERY unexplained AS
  SELECT tran_id, UPPER(originator) AS originator, COALESCE(purpose, 'none given') AS purpose, amount
  FROM transfer
  WHERE amount > 400000 AND (purpose IS NULL OR purpose LIKE 'consult%') AND function_code = 'CTR';

-- With relations ---------------------------------------------------------------------------------

CREATE QUERY watched_sender AS
  SELECT t.tran_id AS tran_id, t.sacct AS account, w.reason AS reason, t.amount AS amount
  FROM transfer t JOIN watchlist w ON t.sacct = w.account
  WHERE t.amount > 10000;

CREATE QUERY watched_receiver AS
  SELECT t.tran_id AS tran_id, t.racct AS account, w.reason AS reason, t.amount AS amount
  FROM transfer t JOIN watchlist w ON t.racct = w.account
  WHERE t.amount > 10000;

CREATE QUERY risky_bank AS
  SELECT t.tran_id AS tran_id, b.name AS bank, b.country AS country, t.amount AS amount
  FROM transfer t JOIN bank b ON t.rbank = b.aba
  WHERE t.amount > 1000000 AND b.risk >= 4;

CREATE QUERY risky_corridor AS
  SELECT t.tran_id AS tran_id, s.name AS from_bank, r.name AS to_bank, t.amount AS amount
  FROM transfer t, bank s, bank r
  WHERE t.sbank = s.aba AND t.rbank = r.aba AND t.amount > 1000000 AND s.risk < r.risk AND r.risk >= 4;

-- Two transfers: what came in goes out -----------------------------------------------------------

CREATE QUERY passed_on AS
  SELECT r1.tran_id AS first, r2.tran_id AS second, r1.amount AS came, r2.amount AS went
  FROM transfer r1, transfer r2
  WHERE r1.amount > 1000000 AND r2.sacct = r1.racct AND r2.amount > r1.amount * 0.5
    AND r2.ts > r1.ts AND r2.ts <= r1.ts + INTERVAL '20' DAY;

CREATE QUERY passed_on_soon AS
  SELECT r1.tran_id AS first, r2.tran_id AS second, r1.amount AS came, r2.amount AS went
  FROM transfer r1, transfer r2
  WHERE r1.amount > 1000000 AND r2.sacct = r1.racct AND r2.amount > r1.amount * 0.5
    AND r2.ts > r1.ts AND r2.ts <= r1.ts + INTERVAL '10' DAY;

CREATE QUERY passed_to_haven AS
  SELECT a.tran_id AS first, b.tran_id AS second, b.rcountry AS country, b.amount AS went
  FROM transfer a JOIN transfer b ON b.sacct = a.racct
  WHERE a.amount > 500000 AND b.amount > 250000 AND b.amount > a.amount * 0.5
    AND b.ts > a.ts AND b.rcountry IN ('KY', 'PA', 'VG', 'CY');

CREATE QUERY pass_through AS
  SELECT a.tran_id AS first, b.tran_id AS second, b.racct AS reached, b.amount AS amount, b.ts AS at
  FROM transfer a, transfer b
  WHERE a.amount > 500000 AND b.amount > 400000 AND b.sacct = a.racct
    AND b.amount BETWEEN a.amount * 0.8 AND a.amount
    AND b.ts > a.ts AND b.ts <= a.ts + INTERVAL '5' DAY;

CREATE QUERY round_trip AS
  SELECT a.tran_id AS out_id, b.tran_id AS back_id, a.sacct AS account, b.amount / a.amount AS share
  FROM transfer a, transfer b
  WHERE a.amount > 400000 AND b.amount > 300000
    AND b.sacct = a.racct AND b.racct = a.sacct AND b.ts > a.ts AND b.amount > a.amount * 0.8;

CREATE QUERY watched_passed_on AS
  SELECT a.tran_id AS first, b.tran_id AS second, w.account AS account, w.reason AS reason
  FROM transfer a, transfer b, watchlist w
  WHERE a.amount > 500000 AND b.sacct = a.racct AND b.amount > 250000
    AND b.ts > a.ts AND w.account = a.racct;

-- Three and four transfers -----------------------------------------------------------------------

CREATE QUERY split_in_two AS
  SELECT a.tran_id AS first, b.tran_id AS one, c.tran_id AS other, a.racct AS account
  FROM transfer a, transfer b, transfer c
  WHERE a.amount > 600000 AND b.amount > 250000 AND c.amount > 250000
    AND b.sacct = a.racct AND c.sacct = a.racct AND b.ts > a.ts AND c.ts > b.ts
    AND b.racct <> c.racct AND b.amount + c.amount BETWEEN a.amount * 0.9 AND a.amount;

CREATE QUERY three_hops AS
  SELECT a.tran_id AS first, b.tran_id AS second, c.tran_id AS third,
    c.racct AS reached, c.amount AS amount, c.ts AS at
  FROM transfer a, transfer b, transfer c
  WHERE a.amount > 500000 AND b.amount > 400000 AND c.amount > 350000
    AND b.sacct = a.racct AND b.amount BETWEEN a.amount * 0.8 AND a.amount
    AND b.ts > a.ts AND b.ts <= a.ts + INTERVAL '5' DAY
    AND c.sacct = b.racct AND c.amount BETWEEN b.amount * 0.8 AND b.amount
    AND c.ts > b.ts AND c.ts <= b.ts + INTERVAL '5' DAY;

CREATE QUERY four_hops AS
  SELECT a.tran_id AS first, b.tran_id AS second, c.tran_id AS third, d.tran_id AS fourth,
    d.racct AS reached, d.amount AS amount, d.ts AS at
  FROM transfer a, transfer b, transfer c, transfer d
  WHERE a.amount > 500000 AND b.amount > 400000 AND c.amount > 350000 AND d.amount > 300000
    AND b.sacct = a.racct AND b.amount BETWEEN a.amount * 0.8 AND a.amount
    AND b.ts > a.ts AND b.ts <= a.ts + INTERVAL '5' DAY
    AND c.sacct = b.racct AND c.amount BETWEEN b.amount * 0.8 AND b.amount
    AND c.ts > b.ts AND c.ts <= b.ts + INTERVAL '5' DAY
    AND d.sacct = c.racct AND d.amount BETWEEN c.amount * 0.8 AND c.amount
    AND d.ts > c.ts AND d.ts <= c.ts + INTERVAL '5' DAY;

CREATE QUERY circle AS
  SELECT a.tran_id AS first, b.tran_id AS second, c.tran_id AS third, a.sacct AS account
  FROM transfer a, transfer b, transfer c
  WHERE a.amount > 400000 AND b.amount > 300000 AND c.amount > 250000
    AND b.sacct = a.racct AND c.sacct = b.racct AND c.racct = a.sacct AND b.ts > a.ts AND c.ts > b.ts;

-- Aggregates -------------------------------------------------------------------------------------

CREATE QUERY smurfing AS
  SELECT racct, COUNT(*) AS transfers, SUM(amount) AS total
  FROM transfer WHERE amount BETWEEN 9000 AND 9999.99
  GROUP BY racct HAVING COUNT(*) >= 8;

CREATE QUERY smurfing_crowd AS
  SELECT racct, COUNT(DISTINCT sacct) AS senders, MIN(ts) AS since
  FROM transfer WHERE amount BETWEEN 9000 AND 9999.99
  GROUP BY racct HAVING COUNT(DISTINCT sacct) >= 8;

CREATE QUERY busy_banks AS
  SELECT sbank, COUNT(*) AS transfers, SUM(amount) AS total, MAX(amount) AS largest
  FROM transfer WHERE amount > 2000000
  GROUP BY sbank HAVING COUNT(*) >= 3;

CREATE QUERY haven_flow AS
  SELECT rcountry, COUNT(*) AS transfers, AVG(amount) AS mean, MAX(amount) AS largest
  FROM transfer WHERE amount > 1000000 AND rcountry IN ('KY', 'PA', 'VG', 'CY')
  GROUP BY rcountry;

CREATE QUERY collected_and_sent AS
  SELECT t.tran_id AS tran_id, f.racct AS account, f.transfers AS transfers, t.amount AS amount
  FROM (SELECT racct, COUNT(*) AS transfers, SUM(amount) AS total
        FROM transfer WHERE amount BETWEEN 9000 AND 9999.99
        GROUP BY racct HAVING COUNT(*) >= 8) f
  JOIN transfer t ON t.sacct = f.racct
  WHERE t.amount > 50000 AND t.amount > f.total * 0.5;

-- Sets -------------------------------------------------------------------------------------------

CREATE QUERY suspects AS
  SELECT sacct AS account FROM transfer WHERE amount > 2000000 AND rcountry IN ('KY', 'PA', 'VG', 'CY')
  UNION
  SELECT t.sacct AS account FROM transfer t JOIN watchlist w ON t.sacct = w.account WHERE t.amount > 100000;

CREATE QUERY parked AS
  SELECT racct AS account FROM transfer WHERE amount > 2000000
  EXCEPT
  SELECT sacct AS account FROM transfer WHERE amount > 250000;

CREATE QUERY corridors AS
  SELECT DISTINCT scountry, rcountry FROM transfer WHERE amount > 3000000 AND scountry <> rcountry;
