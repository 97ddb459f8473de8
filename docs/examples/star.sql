-- Two streams that are joined through a relation, with memory for two tuples of each.
CREATE STREAM r (ts BIGINT, a BIGINT, imp BIGINT) TIMESTAMP BY ts WINDOW 4 IMPORTANCE BY imp FROM 'star_r.jsonl';
CREATE STREAM s (ts BIGINT, b BIGINT, imp BIGINT) TIMESTAMP BY ts WINDOW 4 IMPORTANCE BY imp FROM 'star_s.jsonl';
CREATE RELATION f (a BIGINT, b BIGINT, begin BIGINT, "end" BIGINT) VALID FROM begin TO "end" FROM 'star_f.jsonl';
CREATE QUERY limited WITH (memory = 4) AS
  SELECT r.ts AS r_ts, r.a AS a, s.ts AS s_ts, s.b AS b FROM r, f, s WHERE r.a = f.a AND f.b = s.b;
