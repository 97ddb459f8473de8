"""Spellings of other dialects: each has the plan of the plain one, and what has none is left as it is."""

from __future__ import annotations

from functools import cache
from itertools import product

import duckdb
import pytest
import sqlglot

from seine.frontends.sql.plain_spellings import quantified_comparison
from tests.support.front_end import TABLES, parse, plan_of, refusal

SAME = {
    "SELECT a FROM s WHERE a = ANY (SELECT e FROM t)": "SELECT a FROM s WHERE a IN (SELECT e FROM t)",
    "SELECT a FROM s WHERE a = SOME (SELECT e FROM t)": "SELECT a FROM s WHERE a IN (SELECT e FROM t)",
    "SELECT a FROM s WHERE a <> ALL (SELECT e FROM t)": "SELECT a FROM s WHERE a NOT IN (SELECT e FROM t)",
    "SELECT a FROM s WHERE (a, c) IN ((1, 'x'), (2, 'y'))": (
        "SELECT a FROM s WHERE (a <=> 1 AND c <=> 'x' OR a <=> 2 AND c <=> 'y')"
    ),
    "SELECT a FROM s WHERE c LIKE ANY ('x%', '%y')": "SELECT a FROM s WHERE c LIKE 'x%' OR c LIKE '%y'",
    "SELECT a FROM s WHERE c ILIKE ALL ('x%', '%y')": "SELECT a FROM s WHERE c ILIKE 'x%' AND c ILIKE '%y'",
    "SELECT a FROM s WHERE c NOT LIKE ANY ('x', 'y')": (
        "SELECT a FROM s WHERE NOT c LIKE 'x' OR NOT c LIKE 'y'"
    ),
    "SELECT HOP_START(ts, 5, 10) AS f, COUNT(*) AS n FROM s GROUP BY HOP(ts, 5, 10)": (
        "SELECT window_start AS f, COUNT(*) AS n FROM HOP(s, ts, 5, 10)"
        " GROUP BY window_start, window_end, window_time"
    ),
    "SELECT a FROM s ORDER BY b FETCH FIRST 3 ROWS ONLY": "SELECT a FROM s ORDER BY b LIMIT 3",
    "SELECT a FROM s ORDER BY b FETCH NEXT ROW ONLY": "SELECT a FROM s ORDER BY b LIMIT 1",
    "SELECT DISTINCT ON (a) a, b FROM s ORDER BY a, b DESC": (
        "SELECT a, b FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY a, b DESC) = 1"
    ),
    "SELECT s.a FROM s LEFT JOIN (t JOIN s z ON t.a = z.a) ON s.a = t.e": (
        "SELECT s.a FROM s LEFT JOIN t JOIN s z ON t.a = z.a ON s.a = t.e"
    ),
    "SELECT s.a FROM (s JOIN t ON s.a = t.a) JOIN s z ON z.a = t.e": (
        "SELECT s.a FROM s JOIN t ON s.a = t.a JOIN s z ON z.a = t.e"
    ),
    "SELECT TUMBLE_START(ts, 10) AS f, COUNT(*) AS n FROM s GROUP BY TUMBLE(ts, 10)": (
        "SELECT window.start AS f, COUNT(*) AS n FROM s GROUP BY window(ts, 10)"
    ),
    "SELECT a, HOP_END(ts, 5, 10) AS e, COUNT(*) AS n FROM s GROUP BY a, HOP(ts, 5, 10)": (
        "SELECT a, window.end AS e, COUNT(*) AS n FROM s GROUP BY a, window(ts, 10, 5)"
    ),
    "SELECT TUMBLE_ROWTIME(ts, 10) AS e, COUNT(*) AS n FROM s GROUP BY TUMBLE(ts, 10)": (
        "SELECT window_time(window) AS e, COUNT(*) AS n FROM s GROUP BY window(ts, 10)"
    ),
    "SELECT SESSION_END(ts, 5) AS e, COUNT(*) AS n FROM s GROUP BY a, SESSION(ts, 5)": (
        "SELECT session_window.end AS e, COUNT(*) AS n FROM s GROUP BY a, session_window(ts, 5)"
    ),
    "SELECT a, e FROM s NATURAL JOIN (SELECT a, e FROM t) u": (
        "SELECT a, e FROM s JOIN (SELECT a, e FROM t) u USING (a)"
    ),
    "SELECT * FROM (SELECT a, b FROM s) NATURAL LEFT JOIN (SELECT a, e FROM t) u": (
        "SELECT * FROM (SELECT a, b FROM s) LEFT JOIN (SELECT a, e FROM t) u USING (a)"
    ),
    "SELECT * EXCEPT (b, C, d, k) FROM s": "SELECT a, ts FROM s",
    "SELECT 1 AS one, * EXCEPT (a, b, c, d, k, ts) FROM s": "SELECT 1 AS one FROM s",
    "SELECT s.* EXCEPT (a, b, c, d, k, ts), e FROM s, t": "SELECT e FROM s, t",
    "SELECT a FROM s WHERE b <=> 'none'": "SELECT a FROM s WHERE b <=> CAST('none' AS DOUBLE)",
    "SELECT s.a FROM s JOIN t ON (SELECT s.a = t.a) WHERE (SELECT s.a > 2)": (
        "SELECT s.a FROM s JOIN t ON s.a = t.a WHERE s.a > 2"
    ),
    "SELECT a FROM s WHERE a IN ((SELECT 2), 3) ORDER BY (SELECT b) LIMIT 1": (
        "SELECT a FROM s WHERE a IN (2, 3) ORDER BY b LIMIT 1"
    ),
    "SELECT a, (SELECT 2) AS x FROM s WHERE a > (SELECT 2 + b)": "SELECT a, 2 AS x FROM s WHERE a > 2 + b",
    "SELECT s.* EXCEPT (b, c, d, k), e FROM s, t": "SELECT s.a, s.ts, e FROM s, t",
    "SELECT * EXCEPT (t.a, s.ts, s.B, c, d, k) FROM s, t": "SELECT s.a, e, t.ts FROM s, t",
    "SELECT s.* EXCEPT (s.b, c, d, k), e FROM s, t": "SELECT s.a, s.ts, e FROM s, t",
    "SELECT * EXCLUDE (s.b, c, d, k, t.ts) FROM s JOIN t USING (a)": (
        "SELECT s.a, s.ts, e FROM s JOIN t USING (a)"
    ),
    "SELECT * EXCEPT (x.a, x.ts, y.e) FROM t x RIGHT JOIN t y ON x.a = y.e": (
        "SELECT x.e, y.a, y.ts FROM t x RIGHT JOIN t y ON x.a = y.e"
    ),
}
_TABLES: list[list[int | None]] = [[], [1], [3], [None], [1, 3], [1, None], [3, None], [1, 3, None]]
_QUERIES = (
    "SELECT y FROM t",
    "SELECT y + 1 AS z FROM t WHERE y > 1",
    "SELECT y FROM t GROUP BY y HAVING COUNT(*) > 0",
    "SELECT y FROM t UNION ALL SELECT 2",
)


@pytest.mark.parametrize("spelling", SAME)
def test_a_spelling_has_the_plan_of_the_plain_one(spelling: str) -> None:
    assert plan_of(spelling) == plan_of(SAME[spelling])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM s ORDER BY b FETCH FIRST 3 ROWS WITH TIES",
        "SELECT TUMBLE_START(ts, 20) AS f, COUNT(*) AS n FROM s GROUP BY TUMBLE(ts, 10)",
        "SELECT a FROM s WHERE (a, c) IN ((1, 'x', 2))",
    ],
)
def test_what_means_something_else_is_refused(query: str) -> None:
    assert refusal(f"{TABLES}CREATE QUERY q AS {query};").message


def test_a_spelling_in_a_view_is_read_too() -> None:
    script = parse(
        f"{TABLES}CREATE VIEW most AS SELECT * EXCEPT (b) FROM s; CREATE QUERY q AS SELECT * FROM most;"
    )
    assert [field.name for field in script.declarations.queries["q"].plan.schema] == [
        "a",
        "c",
        "d",
        "k",
        "ts",
    ]


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
