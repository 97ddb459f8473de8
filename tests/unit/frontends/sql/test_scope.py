"""Windows among the columns of distinct rows: bounded and final as their parts are, and read as pairs."""

from __future__ import annotations

from seine.testing import run_script

SCRIPT = """
CREATE STREAM p (id BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'p.jsonl';
CREATE QUERY seen WITH (emit = 'final') AS SELECT DISTINCT id, window(ts, 10) AS w FROM p;
CREATE QUERY visitors WITH (emit = 'final') AS SELECT t.w.start AS since, COUNT(*) AS n
  FROM (SELECT DISTINCT id, window(ts, 10) AS w FROM p) t GROUP BY t.w;
"""


def test_distinct_rows_with_a_window() -> None:
    rows = [{"id": 1, "ts": 3}, {"id": 1, "ts": 5}, {"id": 2, "ts": 9}, {"id": 1, "ts": 12}]
    result = run_script(SCRIPT, p=rows, batch_rows=1)
    windows = {"start": 0, "end": 10}, {"start": 10, "end": 20}
    seen = [{"id": 1, "w": windows[0]}, {"id": 2, "w": windows[0]}, {"id": 1, "w": windows[1]}]
    assert sorted(result.rows("seen"), key=str) == sorted(seen, key=str)
    assert result.rows("visitors") == [{"since": 0, "n": 2}, {"since": 10, "n": 1}]
