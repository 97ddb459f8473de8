"""What frees rows goes by constants of their own query: beside others of its shape it says the same."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import Any

import pytest

from seine.testing import run_script
from tests.support.seeds import seeds

STREAMS = """
CREATE STREAM s (k BIGINT, x BIGINT, ts BIGINT) TIMESTAMP BY ts LATENESS 2 FROM 's.jsonl';
CREATE STREAM u (k BIGINT, ex BIGINT, ts BIGINT) TIMESTAMP BY ts LATENESS 2 FROM 'u.jsonl';
"""
_STARTS = "SELECT k, x, ts, window(ts, {n}).start AS w FROM s"
_COUNTS = "SELECT k, window_start AS w, COUNT(*) AS c FROM HOP(s, ts, {n}, {m}) GROUP BY k, window_start"
TEMPLATES = {
    "distinct": "SELECT DISTINCT k, window(ts, {n}).start AS w FROM s",
    "rank": f"SELECT k, x, w FROM ({_STARTS}) QUALIFY ROW_NUMBER() OVER (PARTITION BY w, k ORDER BY ts) = 1",
    "rank of buckets": "SELECT k, x FROM s QUALIFY RANK() OVER (PARTITION BY ts DIV {n}, k ORDER BY x) = 1",
    "rank of texts": """SELECT k, x FROM s
      QUALIFY RANK() OVER (PARTITION BY k, left(string(timestamp_seconds(ts * {n})), 16) ORDER BY x) = 1""",
    "absent in a bucket": """SELECT k, x FROM s WHERE NOT EXISTS (
      SELECT 1 FROM u WHERE u.k = s.k AND u.ts DIV {n} * 2 = s.ts DIV {n} * 2)""",
    "running": f"SELECT k, ts, SUM(x) OVER (PARTITION BY w, k ORDER BY ts) AS total FROM ({_STARTS})",
    "whole partition": f"SELECT k, x, MAX(x) OVER (PARTITION BY w, k) AS most FROM ({_STARTS})",
    "groups of groups": f"SELECT w, MAX(c) AS most FROM ({_COUNTS}) GROUP BY w",
    "rank of groups": f"SELECT k, w, c FROM ({_COUNTS})"
    " QUALIFY RANK() OVER (PARTITION BY w ORDER BY c DESC) = 1",
    "join of groups": f"""SELECT b.k, b.c FROM ({_COUNTS}) b
      JOIN (SELECT w, MAX(c) AS most FROM ({_COUNTS}) GROUP BY w) m ON b.w = m.w AND b.c >= m.most""",
    "join of different groups": """SELECT a.k, a.w, a.c, b.c AS d
      FROM (SELECT k, window_start AS w, COUNT(*) AS c FROM TUMBLE(s, ts, {n}) GROUP BY k, window_start) a
      JOIN (SELECT k, window_start AS w, COUNT(*) AS c FROM TUMBLE(s, ts, {o}) GROUP BY k, window_start) b
      ON a.k = b.k AND a.w = b.w""",
    "union": """SELECT DISTINCT k, w FROM (
      SELECT k, window(ts, {n}).start AS w FROM s UNION ALL SELECT k, window(ts, {n}).start FROM u)""",
    "difference": "SELECT k, window(ts, {n}).start AS w FROM s EXCEPT SELECT k, window(ts, {n}).start FROM u",
    "intersection": """SELECT k, window(ts, {n}).start AS w FROM s
      INTERSECT SELECT k, window(ts, {n}).start FROM u""",
    "equal buckets": """SELECT s.k, s.ts DIV {n} AS b, COUNT(*) AS c FROM s, u
      WHERE s.k = u.k AND s.ts DIV {n} = u.ts DIV {n} GROUP BY s.k, s.ts DIV {n}""",
    "times of equal buckets": """SELECT s.k, timestamp_seconds(s.ts DIV {n} * {n}) AS b, COUNT(*) AS c
      FROM s, u WHERE s.k = u.k AND s.ts DIV {n} * {n} = u.ts DIV {n} * {n} GROUP BY 1, 2""",
    "texts of starts": """SELECT k, string(timestamp_seconds(window(ts, {n}).start)) AS b, COUNT(*) AS c
      FROM s GROUP BY 1, 2""",
    "starts of starts": """SELECT k, window(ts, {n}).start DIV 2 AS b, COUNT(*) AS c FROM s GROUP BY 1, 2""",
    "ranks of starts of starts": """SELECT k, x FROM s
      QUALIFY ROW_NUMBER() OVER (PARTITION BY k, window(ts, {n}).start DIV 2 ORDER BY x) = 1""",
    "latest time": """SELECT u.k, COUNT(*) AS c FROM s, u
      WHERE s.k = u.k AND s.ts BETWEEN u.ts AND u.ex GROUP BY u.k, window(u.ex, {n})""",
}


def _rows(rng: Random) -> dict[str, list[dict[str, Any]]]:
    times = sorted(rng.randint(0, 300) for _ in range(240))
    rows: list[dict[str, Any]] = [{"k": rng.randint(0, 3), "x": rng.randint(0, 9), "ts": ts} for ts in times]
    others = [
        {"k": row["k"], "ex": row["ts"] + rng.randint(0, 15), "ts": row["ts"]}
        for row in rows
        if rng.random() < 0.4
    ]
    return {"s": sorted(rows, key=lambda row: row["ts"] + rng.uniform(0, 2)), "u": others}


def _counted_records(records: list[dict[str, Any]]) -> Counter[str]:
    return Counter(json.dumps([one["op"], one["t_start"], one["row"]]) for one in records)


@seeds(2)
@pytest.mark.parametrize("emit", ["changes", "final"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_a_query_says_the_same_beside_others_of_its_shape(name: str, emit: str, seed: int) -> None:
    rng = Random(f"{seed} {name} {emit}")
    rows, batch_rows = _rows(rng), rng.choice([7, 40])
    sizes = rng.sample([3, 5, 20, 60], 3)

    def query(number: int) -> str:
        text = TEMPLATES[name].format(n=sizes[number], m=2 * sizes[number], o=sizes[number - 1])
        return f"CREATE QUERY q{number} WITH (emit = '{emit}') AS {text};"

    together = run_script(STREAMS + "\n".join(map(query, range(3))), **rows, batch_rows=batch_rows)
    for number in range(3):
        alone = run_script(STREAMS + query(number), **rows, batch_rows=1000).of(f"q{number}")
        assert _counted_records(alone) == _counted_records(together.of(f"q{number}")), sizes
    assert together.records
