"""Importance: which tuples have none, and what a query's results add up to, against plain sums."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from seine.archive import optimum_of
from seine.frontends.script.parser import read_script
from seine.run_local import run_local

_COLUMNS = "(ts BIGINT, a BIGINT, imp {type}) TIMESTAMP BY ts WINDOW 5 IMPORTANCE BY imp"
_R = f"CREATE STREAM r {_COLUMNS} FROM {{file}};"
_S = f"CREATE STREAM s {_COLUMNS} FROM 's.jsonl';"
_U = "CREATE STREAM u (ts BIGINT, a BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'u.jsonl';"


def write(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def script(folder: Path, *statements: str, type_: str = "DOUBLE", file: str = "'r.jsonl'") -> str:
    path = folder / "script.sql"
    path.write_text("\n".join(statement.format(type=type_, file=file) for statement in statements))
    return str(path)


@pytest.mark.parametrize(
    ("imp", "reason"),
    [
        (None, "the importance imp is missing"),
        (-0.5, "the importance imp is negative"),
        ("much", "imp"),
        (True, "imp"),
    ],
)
def test_a_tuple_without_a_proper_importance_is_dead(tmp_path: Path, imp: Any, reason: str) -> None:
    write(
        tmp_path, "r.jsonl", [{"ts": 1, "a": 1, "imp": 2}, {"ts": 9, "a": 1, "imp": imp}, {"ts": 1, "imp": 0}]
    )
    result = run_local(script(tmp_path, _R, "CREATE QUERY q AS SELECT ts FROM r;"))
    assert [letter["line"] for letter in result.dead] == [2] and reason in result.dead[0]["reason"]
    assert len(result.records) == 2 and result.stats["queries"]["q"]["importance"] == 2.0  # it moved no clock


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_json_has_no_importance_that_is_not_finite(tmp_path: Path, value: str) -> None:
    (tmp_path / "r.jsonl").write_text(f'{{"ts": 1, "a": 1, "imp": {value}}}\n{{"ts": 1, "a": 1, "imp": 3}}\n')
    result = run_local(script(tmp_path, _R, "CREATE QUERY q AS SELECT ts FROM r;"))
    assert [letter["line"] for letter in result.dead] == [1]
    assert result.stats["queries"]["q"]["importance"] == 3.0


@pytest.mark.parametrize("format_", ["PARQUET", "CSV"])
def test_no_format_has_importances_that_are_not_finite(tmp_path: Path, format_: str) -> None:
    imp = [1.0, float("nan"), float("inf"), float("-inf"), None, 4.0]
    table = pa.table({"ts": [1] * 6, "a": [1] * 6, "imp": imp})
    write_table = pq.write_table if format_ == "PARQUET" else csv.write_csv
    write_table(table, tmp_path / "r")
    query = "CREATE QUERY q AS SELECT ts FROM r;"
    result = run_local(script(tmp_path, _R, query, file=f"'r' FORMAT {format_}"))
    assert len(result.dead) == 4 and all("imp" in letter["reason"] for letter in result.dead)
    assert result.stats["queries"]["q"] == {**result.stats["queries"]["q"], "outputs": 2, "importance": 5.0}


def test_without_the_clause_any_value_will_do(tmp_path: Path) -> None:
    write(tmp_path, "r.jsonl", [{"ts": 1, "a": 1, "imp": -3}, {"ts": 1, "a": 1}])
    plain = _R.replace("IMPORTANCE BY imp ", "")
    result = run_local(script(tmp_path, plain, "CREATE QUERY q AS SELECT ts FROM r;"))
    assert not result.dead and result.stats["queries"]["q"]["importance"] is None


@pytest.mark.parametrize("type_", ["BIGINT", "DECIMAL(38,2)", "DOUBLE"])
@pytest.mark.parametrize("options", ["", "WITH (memory = 2)", "WITH (memory = 2, shed = 'dgl')"])
def test_an_importance_that_no_double_equals_is_as_good_as_the_nearest(
    tmp_path: Path, options: str, type_: str
) -> None:
    for name in ("r", "s"):
        write(tmp_path, f"{name}.jsonl", [{"ts": ts, "a": 1, "imp": 2**62 + 1} for ts in range(4)])
    query = f"CREATE QUERY q {options} AS SELECT r.ts AS t, s.ts AS v FROM r, s WHERE r.a = s.a;"
    path = script(tmp_path, _R, _S, query, type_=type_)
    result = run_local(path)
    assert not result.dead and result.records
    assert result.stats["queries"]["q"]["importance"] == float(2**62) * len(result.records)
    if options:
        assert optimum_of(read_script(path).declarations.queries["q"]).importance >= float(2**62) * 4


_COMBINED = {"min": min, "sum": lambda a, b: a + b, "product": lambda a, b: a * b}


@pytest.mark.parametrize("type_", ["DOUBLE", "BIGINT", "DECIMAL(9,2)"])
def test_importance_is_the_sum_over_reported_results(tmp_path: Path, type_: str) -> None:
    rng = Random(type_)
    rows = {
        name: [{"ts": ts, "a": rng.randint(0, 3), "imp": rng.choice([0, 1, 2, 7])} for ts in range(40)]
        for name in ("r", "s", "u")
    }
    for name, given in rows.items():
        write(
            tmp_path,
            f"{name}.jsonl",
            [{k: v for k, v in row.items() if name != "u" or k != "imp"} for row in given],
        )
    both = "SELECT r.ts AS t, s.ts AS v FROM r, s WHERE r.a = s.a;"
    queries = [f"CREATE QUERY {how} WITH (importance = '{how}') AS {both}" for how in _COMBINED]
    queries += ["CREATE QUERY one AS SELECT r.ts AS t, u.ts AS v FROM r, u WHERE r.a = u.a;"]
    queries += [
        "CREATE QUERY none AS SELECT u.ts AS t FROM u;",
        "CREATE QUERY counts AS SELECT COUNT(*) AS n FROM r;",
    ]
    path = script(tmp_path, _R, _S, _U, *queries, type_=type_)
    pairs = [(r, s) for r in rows["r"] for s in rows["s"] if r["a"] == s["a"] and abs(r["ts"] - s["ts"]) < 5]
    assert len(pairs) > 50
    lone = [r["imp"] for r in rows["r"] for u in rows["u"] if r["a"] == u["a"] and abs(r["ts"] - u["ts"]) < 5]
    for batch_rows in (None, 7):
        stats = run_local(path, batch_rows=batch_rows).stats["queries"]
        for how, combine in _COMBINED.items():
            expected = sum(combine(r["imp"], s["imp"]) for r, s in pairs)
            assert stats[how]["importance"] == pytest.approx(expected) and stats[how]["outputs"] == len(pairs)
        assert stats["one"]["importance"] == sum(lone) > 0
        assert stats["none"]["importance"] is None and stats["counts"]["importance"] is None


def test_what_a_limit_cuts_has_no_known_importance(tmp_path: Path) -> None:
    write(tmp_path, "r.jsonl", [{"ts": ts, "a": 1, "imp": 2} for ts in range(9)])
    query = "CREATE QUERY q WITH (limit = 4) AS SELECT ts FROM r;"
    assert run_local(script(tmp_path, _R, query)).stats["queries"]["q"]["importance"] is None
