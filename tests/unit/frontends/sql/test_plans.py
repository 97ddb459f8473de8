"""The plans that SELECT texts become."""

from __future__ import annotations

import pytest

from seine.algebra.expressions import Call, Column, Literal, conjuncts
from seine.algebra.plan import (
    Aggregate,
    Distinct,
    Join,
    Lookup,
    Plan,
    Project,
    Scan,
    Select,
    SetOperation,
    UnionAll,
    walk,
)
from seine.algebra.types import BIGINT, DATE, DAY_TIME, DOUBLE, INT, STRING, TIMESTAMP, YEAR_MONTH, Kind
from tests.support.front_end import plan_of


def shape(plan: Plan) -> str:
    """A plan's operators, nested."""
    name = type(plan).__name__
    if isinstance(plan, Scan | Lookup):
        return plan.alias
    return f"{name}({', '.join(map(shape, plan.inputs))})"


def names(plan: Plan) -> list[str]:
    return [field.name for field in plan.schema]


def conditions(plan: Plan) -> list[str]:
    return [
        str(part) for node in walk(plan) if isinstance(node, Select) for part in conjuncts(node.predicate)
    ]


def outputs(sql: str) -> tuple:
    plan = plan_of(f"SELECT {sql} FROM s")
    assert isinstance(plan, Project)
    return plan.expressions


def test_a_block_is_a_left_deep_chain_under_one_selection():
    plan = plan_of(
        "SELECT x.a AS p, r.name FROM s x, t JOIN r ON t.a = r.a CROSS JOIN t u WHERE x.a = t.a AND u.e > 1"
    )
    assert shape(plan) == "Project(Select(Join(Join(Join(x, t), r), u)))"
    assert all(node.predicate is None for node in walk(plan) if isinstance(node, Join))
    assert conditions(plan) == ["eq(#6, #9)", "eq(#0, #6)", "gt(#12, 1)"]
    assert names(plan) == ["p", "name"]


def test_plain_subqueries_merge_into_the_block():
    plan = plan_of(
        "SELECT w.p + 1 AS q FROM t, (SELECT u.m * 2 AS p FROM (SELECT a AS m FROM s "
        "WHERE b > 0) u WHERE u.m < 9) w "
        "WHERE w.p = t.e"
    )
    assert shape(plan) == "Project(Select(Join(t, s)))"
    assert conditions(plan) == ["gt(#4, 0.0)", "lt(#3, 9)", "eq(mul(#3, 2), #1)"]
    assert isinstance(plan, Project) and str(plan.expressions[0]) == "add(mul(#3, 2), 1)"


@pytest.mark.parametrize(
    "inner",
    ["SELECT DISTINCT a FROM s", "SELECT a FROM s GROUP BY a", "SELECT a FROM s UNION SELECT a FROM t"],
)
def test_other_subqueries_are_items(inner):
    plan = plan_of(f"SELECT u.a FROM ({inner}) u, t WHERE u.a = t.a")
    assert isinstance(plan, Project) and isinstance(plan.input, Select) and isinstance(plan.input.input, Join)


def test_valid_relations_bind_every_stream_of_the_block():
    plan = plan_of("SELECT u.a FROM (SELECT s.a FROM s, v WHERE s.a = v.a) u JOIN t ON t.a = u.a")
    assert conditions(plan)[2:] == [
        "or(is_null(#7), le(#7, #5))",
        "or(is_null(#8), lt(#5, #8))",
        "or(is_null(#7), le(#7, #11))",
        "or(is_null(#8), lt(#11, #8))",
    ]


def test_valid_stays_within_its_block():
    plan = plan_of(
        "SELECT t.a, u.n FROM t, (SELECT s.a, COUNT(*) AS n FROM s, v WHERE s.a = v.a GROUP BY s.a) u"
    )
    assert conditions(plan) == ["eq(#0, #6)", "or(is_null(#7), le(#7, #5))", "or(is_null(#8), lt(#5, #8))"]


def test_grouping():
    plan = plan_of(
        "SELECT a % 3 AS g, SUM(b) / COUNT(*) AS m FROM s WHERE k GROUP BY g HAVING MAX(b) > 3 AND m < 5"
    )
    assert shape(plan) == "Project(Select(Aggregate(Select(s))))"
    aggregate = next(node for node in walk(plan) if isinstance(node, Aggregate))
    assert [str(key) for key in aggregate.keys] == ["mod(#0, 3)"]
    assert [call.function for call in aggregate.calls] == ["sum", "count_all", "max"]
    assert isinstance(plan, Project) and [str(e) for e in plan.expressions] == ["#0", "div(#1, cast(#2))"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, c, COUNT(*) AS n FROM s GROUP BY a, c",
        "SELECT a, c, COUNT(*) AS n FROM s GROUP BY 1, 2",
        "SELECT x.a AS a, x.c AS c, COUNT(1) AS n FROM s x GROUP BY ALL",
        "SELECT a, c, n FROM (SELECT a AS p, c, COUNT(*) AS n FROM s GROUP BY p, c) y(a, c, n)",
    ],
)
def test_group_by_names_ordinals_and_all(sql):
    aggregate = next(node for node in walk(plan_of(sql)) if isinstance(node, Aggregate))
    assert [str(key) for key in aggregate.keys] == ["#0", "#2"]
    assert [call.function for call in aggregate.calls] == ["count_all"]


def test_group_by_prefers_input_columns_to_aliases():
    aggregate = next(
        node for node in walk(plan_of("SELECT a % 2 AS a FROM s GROUP BY a")) if isinstance(node, Aggregate)
    )
    assert aggregate.keys == (Column(0, BIGINT),)


def test_aggregates_are_shared_within_a_query_and_may_be_distinct():
    plan = plan_of(
        "SELECT SUM(a) AS x, SUM(a) + 1 AS y, COUNT(DISTINCT c) AS z, COUNT(*) FILTER (WHERE b > 0) AS w "
        "FROM s"
    )
    aggregate = next(node for node in walk(plan) if isinstance(node, Aggregate))
    assert [(call.function, call.distinct) for call in aggregate.calls] == [
        ("sum", False),
        ("count", True),
        ("count", False),
    ]
    assert str(aggregate.calls[2].args[0]) == "case(gt(#1, 0.0), 1)"


def test_set_operators_go_left_to_right():
    plan = plan_of("SELECT a FROM s UNION SELECT a FROM t EXCEPT SELECT e FROM t")
    assert shape(plan) == "SetOperation(Distinct(UnionAll(Project(s), Project(t))), Project(t))"
    plan = plan_of("SELECT a FROM s UNION ALL SELECT a FROM t UNION ALL SELECT e FROM t")
    assert isinstance(plan, UnionAll) and len(plan.branches) == 3
    plan = plan_of("SELECT a FROM s MINUS (SELECT a FROM t UNION ALL SELECT e FROM t)")
    assert isinstance(plan, SetOperation) and isinstance(plan.right, UnionAll)
    assert isinstance(plan_of("SELECT DISTINCT a FROM s"), Distinct)


def test_branches_are_cast_to_common_types_and_named_by_the_first():
    plan = plan_of("SELECT a AS p, NULL AS q FROM s UNION ALL SELECT b, c FROM s")
    assert [(field.name, field.type) for field in plan.schema] == [("p", DOUBLE), ("q", STRING)]


def test_stars_and_using():
    assert names(plan_of("SELECT * FROM t")) == ["a", "e", "ts"]
    assert names(plan_of("SELECT r.*, t.e FROM t, r")) == ["a", "name", "e"]
    plan = plan_of("SELECT * FROM t JOIN r USING (a)")
    assert names(plan) == ["a", "e", "ts", "name"] and conditions(plan) == ["eq(#0, #3)"]
    assert names(plan_of("SELECT a FROM t JOIN r USING (a)")) == ["a"]


def test_common_tables_are_sub_queries():
    plan = plan_of(
        "WITH p AS (SELECT a FROM s WHERE k), q(n) AS (SELECT COUNT(*) FROM p) SELECT p.a, q.n FROM p, q"
    )
    assert shape(plan) == "Project(Select(Join(p.s, Project(Aggregate(Select(q.s))))))"


def test_names_of_outputs():
    assert names(plan_of('SELECT a AS Total, b "Big B", COUNT(*) FROM s GROUP BY a, b')) == [
        "Total",
        "Big B",
        "count(*)",
    ]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT `A` AS Total, B FROM `S`", ["Total", "B"]),
        ("SELECT X.Total FROM (SELECT a AS `Total` FROM s) x", ["Total"]),
        ("SELECT total FROM (SELECT a AS `Total` FROM s) x", ["total"]),
        ("SELECT C, COUNT(*) AS N FROM s GROUP BY `C`", ["C", "N"]),
        ("SELECT A AS Xx FROM s UNION SELECT e FROM t", ["Xx"]),
    ],
)
def test_names_are_found_in_any_case_and_written_as_they_are(sql, expected):
    assert names(plan_of(sql)) == expected


def test_names_that_differ_in_case_alone_are_one_plan_but_for_the_names():
    lower, upper = plan_of("SELECT a AS x FROM s"), plan_of("SELECT `A` AS X FROM `S`")
    assert lower.expressions == upper.expressions and lower.names != upper.names


def test_later_outputs_may_use_earlier_ones():
    assert [str(e) for e in outputs("a + 1 AS x, x * 2 AS y")] == ["add(#0, 1)", "mul(add(#0, 1), 2)"]


@pytest.mark.parametrize(
    ("sql", "value", "type_"),
    [
        ("7", 7, INT),
        ("3000000000", 3000000000, BIGINT),
        ("-9223372036854775808", -(2**63), BIGINT),
        ("1e3", 1000.0, DOUBLE),
        ("5L", 5, BIGINT),
        ("'it''s'", "it's", STRING),
        ("'a\\tb'", "a\tb", STRING),
        ("'10\\%\\_\\q\\u00e9'", "10\\%\\_qé", STRING),
        ("r'a\\d'", "a\\d", STRING),
        ("INTERVAL '5' DAY", 5 * 86_400_000_000, DAY_TIME),
        ("INTERVAL -2 YEARS", -24, YEAR_MONTH),
    ],
)
def test_constants(sql, value, type_):
    assert outputs(f"{sql} AS x") == (Literal(value, type_),)


def test_typed_strings_are_constants():
    date, instant, number = outputs(
        "DATE '2024-02-29' AS p, TIMESTAMP '2024-02-29 10:00:00+02:00' AS q, -1.50 AS r"
    )
    assert (str(date), date.type) == ("2024-02-29", DATE)
    assert (str(instant), instant.type) == ("2024-02-29 08:00:00+00:00", TIMESTAMP)
    assert (str(number), number.type.kind, number.type.scale) == ("-1.50", Kind.DECIMAL, 2)


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("a BETWEEN 1 AND 2", "and(ge(#0, 1), le(#0, 2))"),
        ("a NOT IN (1, 2)", "not(in(#0, 1, 2))"),
        ("c IS NOT NULL", "not(is_null(#2))"),
        ("k IS TRUE", "eq_null_safe(#4, True)"),
        ("a <=> 3", "eq_null_safe(#0, 3)"),
        ("a IS DISTINCT FROM 3", "not(eq_null_safe(#0, 3))"),
        ("c LIKE 'a!%' ESCAPE '!'", "like(#2, 'a!%', '!')"),
        ("c || 'x' || c", "concat(#2, 'x', #2)"),
        ("CASE a WHEN 1 THEN 'x' ELSE c END", "case(eq(#0, 1), 'x', #2)"),
        ("IF(k, a, ts)", "case(#4, #0, #5)"),
        ("NVL(c, 'none')", "coalesce(#2, 'none')"),
        ("EXTRACT(YEAR FROM d)", "year(#3)"),
        ("TRIM(LEADING 'x' FROM c)", "ltrim(#2, 'x')"),
        ("TRIM('x', c)", "trim(#2, 'x')"),
        ("LTRIM('x', c)", "ltrim(#2, 'x')"),
        ("RTRIM(c)", "rtrim(#2)"),
        ("BTRIM(c, 'x')", "trim(#2, 'x')"),
        ("SUBSTRING(c FROM 2 FOR 3)", "substring(#2, 2, 3)"),
        ("SUBSTR(c, 2)", "substring(#2, 2)"),
        ("POSITION('x' IN c)", "instr(#2, 'x')"),
        ("CAST(a AS STRING)", "cast(#0)"),
        ("a::double", "cast(#0)"),
        ("Upper(C)", "upper(#2)"),
        ("a DIV 2", "int_div(#0, 2)"),
        ("NOT k AND (k OR a = 1)", "and(not(#4), or(#4, eq(#0, 1)))"),
        ("-(a)", "neg(#0)"),
    ],
)
def test_expressions(sql, text):
    assert str(outputs(f"{sql} AS x")[0]) == text


def test_long_conjunctions_are_flat():
    plan = plan_of("SELECT a FROM s WHERE " + " AND ".join(f"a <> {i}" for i in range(3000)))
    assert isinstance(plan, Project) and isinstance(plan.input, Select)
    assert isinstance(plan.input.predicate, Call) and len(plan.input.predicate.args) == 3000
