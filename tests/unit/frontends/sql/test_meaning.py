"""The plans of SELECT texts, interpreted over fixed tables, give what DuckDB gives for the same text."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from seine.algebra.expressions import Expression
from seine.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Join,
    Lookup,
    Plan,
    Project,
    Scan,
    Select,
    SetOperation,
    UnionAll,
)
from seine.evaluate.evaluate import evaluate
from tests.support.front_end import parse
from tests.support.seeds import seed_range

Row = tuple[Any, ...]

TABLES = """\
CREATE STREAM s (a BIGINT, b BIGINT, c STRING, x DOUBLE, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 's.jsonl';
CREATE STREAM t (a BIGINT, e BIGINT, f STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 't.jsonl';
CREATE RELATION r (a BIGINT, name STRING) FROM 'r.jsonl';
"""


def random_tables(seed: int) -> dict[str, list[Row]]:
    rnd = random.Random(seed)

    def number(most: int = 6) -> int | None:
        return None if rnd.random() < 0.12 else rnd.randrange(-1, most)

    def word() -> str | None:
        return None if rnd.random() < 0.12 else rnd.choice(["ab", "b", "Ba", "", "it's"])

    return {
        "s": [
            (number(), number(), word(), rnd.choice([None, 0.5, 2.25, -1.0]), i)
            for i in range(rnd.randint(5, 25))
        ],
        "t": [(number(), number(), word(), i) for i in range(rnd.randint(5, 25))],
        "r": [(number(), word()) for _ in range(6)],
    }


def values(expression: Expression, rows: list[Row], types: list[pa.DataType]) -> list[Any]:
    columns = [pa.array([row[i] for row in rows], type_) for i, type_ in enumerate(types)]
    return evaluate(expression, columns, len(rows)).to_pylist()


def rows_of(plan: Plan, data: dict[str, list[Row]]) -> list[Row]:
    """The bag of rows of a plan when every tuple is alive."""
    types = [field.type.arrow() for field in plan.inputs[0].schema] if plan.inputs else []
    match plan:
        case Scan(stream, _):
            return data[stream.name]
        case Lookup(relation, _):
            return data[relation.name]
        case Select(source, predicate):
            rows = rows_of(source, data)
            return [row for row, true in zip(rows, values(predicate, rows, types), strict=True) if true]
        case Project(source, expressions, _):
            rows = rows_of(source, data)
            return list(zip(*(values(e, rows, types) for e in expressions), strict=True))
        case Join(left, right, None):
            return [a + b for a in rows_of(left, data) for b in rows_of(right, data)]
        case Aggregate(source, keys, calls, _):
            return grouped(rows_of(source, data), types, keys, calls)
        case Distinct(source):
            return list(set(rows_of(source, data)))
        case UnionAll(branches):
            return [row for branch in branches for row in rows_of(branch, data)]
        case SetOperation(left, right):
            return list(set(rows_of(left, data)) - set(rows_of(right, data)))
    raise AssertionError(plan)


def grouped(
    rows: list[Row], types: list[pa.DataType], keys: tuple[Expression, ...], calls: tuple[AggregateCall, ...]
) -> list[Row]:
    key_rows = list(zip(*(values(key, rows, types) for key in keys), strict=True)) or [()] * len(rows)
    groups: dict[Row, list[Row]] = {} if keys else {(): []}
    for key, row in zip(key_rows, rows, strict=True):
        groups.setdefault(key, []).append(row)
    return [key + tuple(aggregate(call, members, types) for call in calls) for key, members in groups.items()]


def aggregate(call: AggregateCall, rows: list[Row], types: list[pa.DataType]) -> Any:
    if call.function == "count_all":
        return len(rows)
    args = [
        row for row in zip(*(values(arg, rows, types) for arg in call.args), strict=True) if None not in row
    ]
    arguments = [row[0] for row in (set(args) if call.distinct else args)]
    if call.function == "count":
        return len(arguments)
    if not arguments:
        return None
    return {"sum": sum, "min": min, "max": max, "avg": lambda v: sum(v) / len(v)}[call.function](arguments)


QUERIES = [
    "SELECT a, b + 1 AS n, UPPER(c) AS u FROM s WHERE b > {n} OR c LIKE '%b%'",
    "SELECT a, COALESCE(b, -1) AS n FROM s WHERE NOT (a = {n} AND b <> {m}) AND c IS NOT NULL",
    "SELECT p.a AS a, q.e AS e, r.name AS name FROM s p JOIN t q ON p.a = q.a, r "
    "WHERE r.a = q.e AND p.b BETWEEN {n} AND 4",
    "SELECT * FROM t JOIN r USING (a) WHERE e IN ({n}, {m}, 5)",
    "SELECT p.ts AS x, q.ts AS y FROM s p, s q WHERE p.a = q.a AND p.ts < q.ts AND p.b % 2 = 0",
    "SELECT w.p, w.p + t.e AS z FROM (SELECT a * 2 AS p, b FROM s WHERE b > {n}) w "
    "JOIN t ON w.p = t.a OR w.b = t.e",
    "SELECT a, COUNT(*) AS n, SUM(b) AS total, MIN(c) AS lo, MAX(x) AS hi FROM s GROUP BY a",
    "SELECT COUNT(*) AS n, COUNT(a) AS k, COUNT(DISTINCT a) AS d, AVG(x) AS m FROM s WHERE b > {n}",
    "SELECT a % 3 AS g, SUM(b) + COUNT(*) AS v FROM s GROUP BY a % 3 HAVING COUNT(*) > {n} AND MAX(b) > 0",
    "SELECT c, COUNT(*) AS n FROM s GROUP BY c HAVING n > 1",
    "SELECT CASE WHEN b > {n} THEN 'hi' ELSE 'lo' END AS g, COUNT(*) FILTER (WHERE a > 1) AS n "
    "FROM s GROUP BY g",
    "SELECT s.a AS a, COUNT(DISTINCT t.e) AS n FROM s, t WHERE s.a = t.a GROUP BY s.a",
    "SELECT g.n, COUNT(*) AS groups FROM (SELECT a, COUNT(*) AS n FROM s GROUP BY a) g "
    "WHERE g.n > 1 GROUP BY g.n",
    "SELECT s.a AS a, s.b AS b, g.m AS m FROM s JOIN (SELECT a, MAX(e) AS m FROM t "
    "GROUP BY a) g ON s.a = g.a AND s.b < g.m",
    "SELECT DISTINCT a, c FROM s WHERE b > {n}",
    "SELECT a FROM s UNION SELECT e FROM t",
    "SELECT a, c FROM s UNION ALL SELECT e, f FROM t WHERE e > {n}",
    "SELECT a FROM s EXCEPT SELECT a FROM t WHERE e > {n}",
    "SELECT a FROM s UNION SELECT a FROM t EXCEPT SELECT e FROM t WHERE e < {m}",
    "SELECT a FROM s WHERE b > {n} UNION ALL (SELECT a FROM t EXCEPT SELECT b FROM s)",
    "SELECT x FROM s UNION SELECT a FROM t",
    "SELECT u.a, r.name FROM (SELECT a FROM s UNION ALL SELECT a FROM t) u JOIN r ON u.a = r.a",
    "SELECT DISTINCT COUNT(*) AS n FROM s GROUP BY a",
    "WITH p AS (SELECT a, b FROM s WHERE b > {n}) SELECT p.a, q.b FROM p JOIN p q ON p.a = q.a",
    "SELECT a IS NULL AS i, b IS DISTINCT "
    "FROM {n} AS j, SUBSTRING(c, 1, 1) || '!' AS k, LENGTH(c) AS l, -b AS m FROM s",
]


@pytest.mark.parametrize("query", QUERIES)
def test_a_plan_means_what_its_text_means(query):
    filled = 0
    for seed in seed_range(6):
        rnd = random.Random(seed)
        sql = query.format(n=rnd.randrange(-1, 3), m=rnd.randrange(1, 5))
        data = random_tables(seed)
        plan = parse(f"{TABLES}CREATE QUERY q AS {sql};").declarations.queries["q"].plan
        got, expected = (
            Counter(map(settled, rows_of(plan, data))),
            Counter(map(settled, in_duckdb(sql, data))),
        )
        assert got == expected, sql
        filled += bool(expected)
    assert filled >= 3


def settled(row: Row) -> Row:
    """Numbers as floats, so that 3 equals 3.0 whatever type carries them."""
    return tuple(float(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in row)


def in_duckdb(sql: str, data: dict[str, list[Row]]) -> list[Row]:
    declared = parse(TABLES).declarations
    with duckdb.connect() as connection:
        for name, table in declared.tables.items():
            columns = zip(*data[name], strict=True)
            arrays = [pa.array(v, f.type.arrow()) for v, f in zip(columns, table.fields, strict=True)]
            connection.register(name, pa.table(arrays, [field.name for field in table.fields]))
        return connection.execute(sql).fetchall()
