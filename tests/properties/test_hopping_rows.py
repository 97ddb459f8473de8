"""HOP gives a row once for each of its windows, whoever reads them: as DuckDB does over all pairs of both."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import duckdb
import pytest

from seine.run_local import run_local
from tests.support.seeds import seeds

_QUERIES = (
    "SELECT COUNT(*) AS n FROM {hop} h",
    "SELECT k, COUNT(*) AS n, SUM(x) AS total FROM {hop} h GROUP BY k",
    "SELECT k, x FROM {hop} h",
    "SELECT k, window_start, window_end, window_time FROM {hop} h WHERE window_start >= 0",
    "SELECT DISTINCT k FROM {hop} h",
    "SELECT k, window_end, COUNT(*) AS n FROM {hop} h GROUP BY k, window_start, window_end",
    "SELECT window_start, COUNT(*) AS n FROM {hop} h WHERE window_end > x GROUP BY window_start",
    "SELECT window_end - x AS late, COUNT(*) AS n FROM {hop} h GROUP BY window_end - x",
    "SELECT MAX(window_end) AS last, MIN(window_time) AS first FROM {hop} h",
    "SELECT h.window_start, COUNT(*) AS n FROM {hop} h JOIN t ON h.k = t.k GROUP BY h.window_start",
    "SELECT h.window_start, COUNT(*) AS n FROM t LEFT JOIN {hop} h ON h.k = t.k GROUP BY h.window_start",
    "SELECT window_start, COUNT(*) AS n FROM {hop} h LEFT JOIN t ON t.x = window_start GROUP BY window_start",
    "SELECT a.k, b.window_start FROM {hop} a JOIN {hop} b ON a.window_start = b.window_start AND a.k = b.k",
    "SELECT a.window_start, COUNT(*) AS n FROM {hop} a, {hop} b WHERE a.k = b.k GROUP BY a.window_start",
    "SELECT k, window_start, ROW_NUMBER() OVER (PARTITION BY window_start ORDER BY x DESC, k, ts) AS r"
    " FROM {hop} h QUALIFY r < 3",
    "SELECT x, window_start FROM {hop} h ORDER BY x, window_start, k LIMIT 3",
    "SELECT COUNT(*) AS n FROM (SELECT * FROM {hop} i) h",
    "SELECT (SELECT COUNT(*) FROM {hop} h) AS n, k FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE EXISTS (SELECT 1 FROM {hop} h WHERE h.window_start = t.x)",
    "SELECT window_start, COUNT(*) AS n FROM {hop} h WHERE EXISTS (SELECT 1 FROM t WHERE t.x = h.window_end)"
    " GROUP BY window_start",
    "SELECT GREATEST(k, 1) AS g, COUNT(*) AS n FROM {hop} h GROUP BY ROLLUP (GREATEST(k, 1)), window_start",
    "SELECT k, COUNT(*) AS n FROM {hop} h GROUP BY GROUPING SETS ((k, window_start), (k))",
)


def _by_duckdb(query: str, tables: dict[str, list[dict[str, int]]], slide: int, length: int) -> Counter:
    connection = duckdb.connect()
    for name, rows in tables.items():
        connection.execute(f"CREATE TABLE {name} (k BIGINT, x BIGINT, ts BIGINT)")
        connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", [[*row.values()] for row in rows])
    hopped = (
        f"(SELECT s.*, w AS window_start, w + {length} AS window_end, w + {length} - 1 AS window_time"
        f" FROM s, (SELECT i * {slide} AS w FROM range(-60, 60) r(i)) WHERE w <= ts AND ts < w + {length})"
    )
    return Counter(connection.execute(query.format(hop=hopped)).fetchall())


def _by_script(folder: Path, query: str, slide: int, length: int, **options: int | None) -> Counter:
    streams = "".join(
        f"CREATE STREAM {name} (k BIGINT, x BIGINT, ts BIGINT) TIMESTAMP BY ts FROM '{name}.jsonl';\n"
        for name in ("s", "t")
    )
    hop = f"HOP(TABLE s, DESCRIPTOR(ts), {slide}, {length})"
    text = f"{streams}CREATE QUERY q WITH (unbounded = true) AS {query.format(hop=hop)};"
    (folder / "s.sql").write_text(text)
    net: Counter = Counter()
    for record in run_local(str(folder / "s.sql"), **options).records:
        net[tuple(record["row"].values())] += 1 if record["op"] == "+" else -1
    return +net


@pytest.mark.parametrize("query", _QUERIES)
@seeds(3)
def test_hopping_rows(tmp_path: Path, query: str, seed: int) -> None:
    random = Random(seed)
    slide, length = random.choice([(5, 10), (3, 10), (4, 4), (2, 9)])
    tables = {
        name: [
            {"k": random.randrange(3), "x": random.randrange(-2, 12), "ts": ts}
            for ts in sorted(random.randrange(-5, 25) for _ in range(9))
        ]
        for name in ("s", "t")
    }
    for name, rows in tables.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    expected = _by_duckdb(query, tables, slide, length)
    assert expected or "x = " in query or "EXISTS" in query
    options = {"batch_rows": random.choice([None, 2]), "buckets": random.choice([1, 3])}
    assert _by_script(tmp_path, query, slide, length, **options) == expected
