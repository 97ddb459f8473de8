"""A comparison with ALL or ANY and the CASE that it stands for are the same to DuckDB, NULLs included."""

from __future__ import annotations

from functools import cache
from itertools import product

import duckdb
import pytest
import sqlglot

from seine.frontends.sql.quantified_comparisons import quantified_comparison

_TABLES: list[list[int | None]] = [[], [1], [3], [None], [1, 3], [1, None], [3, None], [1, 3, None]]
_QUERIES = (
    "SELECT y FROM t",
    "SELECT y + 1 AS z FROM t WHERE y > 1",
    "SELECT y FROM t GROUP BY y HAVING COUNT(*) > 0",
    "SELECT y FROM t UNION ALL SELECT 2",
)


@pytest.mark.parametrize("query", _QUERIES)
def test_all_and_any_have_the_values_of_sql(query: str) -> None:
    signs = product((">", ">=", "<", "<="), ("ALL", "ANY"), ("1", "2", "NULL"))
    texts = [f"CAST({x} AS BIGINT) {sign} {kind} ({query})" for sign, kind, x in signs]
    truths: set[bool | None] = set()
    with duckdb.connect() as database:
        for table in _TABLES:
            values = ", ".join(f"({'NULL' if y is None else y})" for y in table)
            database.execute("CREATE OR REPLACE TABLE t (y BIGINT)")
            database.execute(f"INSERT INTO t VALUES {values}" if values else "SELECT 1")
            wanted, given = (
                database.execute(f"SELECT {', '.join(columns)}").fetchone() or ()
                for columns in (texts, map(_rewritten, texts))
            )
            assert dict(zip(texts, given, strict=True)) == dict(zip(texts, wanted, strict=True)), table
            truths |= {*wanted}
    assert truths == {True, False, None}


@cache
def _rewritten(text: str) -> str:
    comparison = quantified_comparison(sqlglot.parse_one(text, read="duckdb"))
    assert comparison is not None
    return comparison.sql("duckdb")


@pytest.mark.parametrize("text", ["x = ANY (SELECT y FROM t)", "x <> ALL (SELECT y FROM t)", "x > y"])
def test_other_comparisons_stand_for_themselves(text: str) -> None:
    assert quantified_comparison(sqlglot.parse_one(text, read="duckdb")) is None
