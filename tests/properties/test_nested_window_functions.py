"""Window functions of aggregates and of one another, with QUALIFY,"
" ORDER BY, LIMIT: DuckDB's rows at the end."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import duckdb
import pytest

from seine.run_local import run_local
from tests.support.seeds import seeds

_LAGS = "(SELECT *, LAG(x) OVER (ORDER BY ts) AS lower FROM s)"
_TOTALS = "(SELECT *, SUM(x) OVER (PARTITION BY k) AS lower FROM s)"
_COUNTS = "(SELECT *, COUNT(*) OVER (PARTITION BY k) AS lower FROM s)"
_OF_KEYS = "(SELECT *, LAG(x) OVER (PARTITION BY k ORDER BY ts) AS lower FROM s)"
_GROUPED = "(SELECT k, g, SUM(x) AS t FROM s GROUP BY k, g)"

# what is asked, and the same for DuckDB, which nests no window functions
_QUERIES = {
    "SELECT k, g, SUM(x) * 100 / SUM(SUM(x)) OVER (PARTITION BY g) AS v"
    " FROM s GROUP BY k, g ORDER BY k, g LIMIT 3": "",
    "SELECT k, g, SUM(x) * 100 / SUM(SUM(x)) OVER (PARTITION BY g) AS v"
    " FROM s GROUP BY k, g ORDER BY v, k, g LIMIT 2": "",
    "SELECT k, g, SUM(x) * 100 / SUM(SUM(x)) OVER () AS v FROM s GROUP BY k, g HAVING COUNT(*) > 1": "",
    "SELECT k, SUM(x) AS t, RANK() OVER (ORDER BY SUM(x) DESC) + 1 AS r FROM s GROUP BY k"
    " QUALIFY r < 4 ORDER BY r * 2, k LIMIT 2": "",
    "SELECT k, MAX(SUM(x)) OVER (PARTITION BY g ORDER BY k) - MIN(x) AS v FROM s GROUP BY k, g, x"
    " ORDER BY v DESC, k, g, x LIMIT 4": "",
    "SELECT k, x - LAG(x) OVER (ORDER BY ts) AS v, ts FROM s ORDER BY v, ts LIMIT 3": "",
    "SELECT k, ts, SUM(x) OVER (PARTITION BY k) + COUNT(*) OVER () AS v FROM s"
    " ORDER BY v - k DESC, ts LIMIT 3": "",
    "SELECT k, ts, x FROM s QUALIFY x > AVG(x) OVER (PARTITION BY k) - 1": "",
    "SELECT k, ts, SUM(LAG(x) OVER (ORDER BY ts)) OVER (PARTITION BY k) AS v FROM s": (
        f"SELECT k, ts, SUM(lower) OVER (PARTITION BY k) AS v FROM {_LAGS}"
    ),
    "SELECT k, ts, SUM(LAG(x) OVER (PARTITION BY k ORDER BY ts)) OVER (PARTITION BY k"
    " ORDER BY ts) AS v FROM s": (
        f"SELECT k, ts, SUM(lower) OVER (PARTITION BY k ORDER BY ts) AS v FROM {_OF_KEYS}"
    ),
    "SELECT k, ts, SUM(x + LAG(x) OVER (ORDER BY ts)) OVER (PARTITION BY k) + x AS v FROM s"
    " ORDER BY v + k, ts LIMIT 3": (
        f"SELECT k, ts, SUM(x + lower) OVER (PARTITION BY k) + x AS v FROM {_LAGS} ORDER BY v + k, ts LIMIT 3"
    ),
    "SELECT k, ts, ROW_NUMBER() OVER (ORDER BY SUM(x) OVER (PARTITION BY k), ts) AS v FROM s": (
        f"SELECT k, ts, ROW_NUMBER() OVER (ORDER BY lower, ts) AS v FROM {_TOTALS}"
    ),
    "SELECT k, ts, ROW_NUMBER() OVER (PARTITION BY COUNT(*) OVER (PARTITION BY k) + g"
    " ORDER BY ts) AS v FROM s": (
        f"SELECT k, ts, ROW_NUMBER() OVER (PARTITION BY lower + g ORDER BY ts) AS v FROM {_COUNTS}"
    ),
    "SELECT k, g, SUM(RANK() OVER (ORDER BY SUM(x))) OVER (PARTITION BY k) AS v"
    " FROM s GROUP BY k, g LIMIT 99": (
        "SELECT k, g, SUM(lower) OVER (PARTITION BY k) AS v"
        f" FROM (SELECT *, RANK() OVER (ORDER BY t) AS lower FROM {_GROUPED})"
    ),
}


def _by_duckdb(query: str, rows: list[tuple[int, int, int, int]]) -> Counter:
    connection = duckdb.connect(config={"default_null_order": "nulls_first_on_asc_last_on_desc"})
    connection.execute("CREATE TABLE s (k BIGINT, g BIGINT, x BIGINT, ts BIGINT)")
    connection.executemany("INSERT INTO s VALUES (?, ?, ?, ?)", rows)
    return _rounded(connection.execute(query).fetchall())


def _rounded(rows: list[tuple]) -> Counter:
    return Counter(tuple(None if one is None else round(float(one), 9) for one in row) for row in rows)


@pytest.mark.parametrize("query", _QUERIES)
@seeds(2)
def test_nested_window_functions(tmp_path: Path, query: str, seed: int) -> None:
    random = Random(seed)
    rows = [(random.randrange(4), random.randrange(2), random.randint(1, 9), ts) for ts in range(12)]
    lines = [json.dumps(dict(zip(("k", "g", "x", "ts"), row, strict=True))) + "\n" for row in rows]
    (tmp_path / "s.jsonl").write_text("".join(lines))
    (tmp_path / "s.sql").write_text(
        "CREATE STREAM s (k BIGINT, g BIGINT, x BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';\n"
        f"CREATE QUERY q WITH (unbounded = true) AS {query};\n"
    )
    expected = _by_duckdb(_QUERIES[query] or query, rows)
    assert expected
    net: Counter = Counter()
    for record in run_local(str(tmp_path / "s.sql"), batch_rows=random.choice([None, 2])).records:
        net[tuple(record["row"].values())] += 1 if record["op"] == "+" else -1
    assert _rounded([*(+net).elements()]) == expected
