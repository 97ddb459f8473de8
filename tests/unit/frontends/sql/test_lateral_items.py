"""LATERAL sub-queries are the plans of the spellings that they stand for."""

from __future__ import annotations

import pytest

from tests.support.front_end import plan_of, sql_refusal

_REFUSED = "LATERAL is not supported for this sub-query"
_MOST = "(SELECT MAX(e) FROM t WHERE t.a = s.a)"
_KEY = 't.a AS "lateral key 0"'
_FIRST = "QUALIFY ROW_NUMBER() OVER (PARTITION BY t.a ORDER BY e) <= 3"
_SAME = {
    "SELECT v.m FROM s, LATERAL (SELECT MAX(e) AS m FROM t WHERE t.a = s.a) v": f"SELECT {_MOST} AS m FROM s",
    "SELECT b, m FROM s, LATERAL (SELECT MAX(e) FROM t WHERE t.a = s.a) v(m)": (
        f"SELECT b, {_MOST} AS m FROM s"
    ),
    "SELECT b FROM s LEFT JOIN LATERAL (SELECT MAX(e) AS m FROM t WHERE t.a = s.a) v ON TRUE WHERE v.m > 1": (
        f"SELECT b FROM s WHERE {_MOST} > 1"
    ),
    "SELECT s.b, v.e FROM s, LATERAL (SELECT e FROM t WHERE t.a = s.a ORDER BY e LIMIT 3) v": (
        f'SELECT s.b, v.e FROM s JOIN (SELECT e, {_KEY} FROM t {_FIRST}) v ON v."lateral key 0" = s.a'
    ),
    "SELECT s.b, v.e FROM s, LATERAL (SELECT e FROM t WHERE s.a = t.a AND e > 0 ORDER BY e LIMIT 3) v": (
        f"SELECT s.b, v.e FROM s JOIN (SELECT e, {_KEY} FROM t WHERE e > 0 {_FIRST}) v"
        ' ON v."lateral key 0" = s.a'
    ),
}


@pytest.mark.parametrize("lateral", _SAME)
def test_the_plan_is_that_of_the_other_spelling(lateral: str) -> None:
    plan = plan_of(lateral)
    assert plan == plan_of(_SAME[lateral])
    assert [field.name for field in plan.schema]


@pytest.mark.parametrize(
    ("lateral", "reason"),
    [
        ("SELECT e FROM t WHERE t.e > s.a ORDER BY e LIMIT 3", _REFUSED),
        ("SELECT DISTINCT e FROM t WHERE t.a = s.a LIMIT 3", _REFUSED),
        (
            "SELECT e, RANK() OVER (ORDER BY e) AS r FROM t WHERE t.a = s.a",
            _REFUSED,
        ),
        (
            "SELECT e FROM t WHERE t.a = s.a UNION ALL SELECT e FROM t",
            _REFUSED,
        ),
        ("SELECT e FROM t WHERE t.a = s.a ORDER BY ABS(e - s.a) LIMIT 1", _REFUSED),
        ("SELECT e, SUM(e) OVER () AS t FROM t WHERE t.a = s.a ORDER BY e LIMIT 1", _REFUSED),
        ("SELECT e, SUM(COUNT(*)) OVER () AS n FROM t WHERE t.a = s.a GROUP BY e", _REFUSED),
        ("SELECT COUNT(*) AS e FROM t WHERE t.a = s.a GROUP BY ()", _REFUSED),
        ("SELECT a AS e FROM t WHERE t.a = s.a GROUP BY ROLLUP (a)", _REFUSED),
        ("SELECT e FROM t WHERE t.a = s.a GROUP BY 1, 2", _REFUSED),
        ("SELECT COUNT(*) AS e FROM t WHERE t.a = s.a HAVING COUNT(*) > 1", _REFUSED),
        ("SELECT e FROM t WHERE t.a = s.a LIMIT 3", "LIMIT needs an order"),
        (
            "SELECT e FROM t WHERE CAST(t.e AS STRING) = s.a ORDER BY e LIMIT 3",
            "the keys of this LATERAL sub-query are STRING inside and BIGINT outside",
        ),
    ],
)
def test_what_stands_for_nothing_is_refused(lateral: str, reason: str) -> None:
    assert sql_refusal(f"SELECT v.e FROM s, LATERAL ({lateral}) v")[2] == reason


@pytest.mark.parametrize(
    "query",
    [
        "SELECT b FROM s, LATERAL (SELECT MAX(e) AS b FROM t WHERE t.a = s.a) v",
        "SELECT s.a FROM s, LATERAL (SELECT MAX(e) AS b FROM t WHERE t.a = s.a) v WHERE b > 1",
        "SELECT SUM(b) FROM s, LATERAL (SELECT MAX(e) AS b FROM t) v",
    ],
)
def test_a_name_of_two_items_is_ambiguous(query: str) -> None:
    message, hint = sql_refusal(query)[2:4]
    assert message == "column b is ambiguous"
    assert hint == "say s.b or v.b"


@pytest.mark.parametrize("join", ["ANTI JOIN", "SEMI JOIN", "RIGHT JOIN", "LEFT JOIN", "NATURAL LEFT JOIN"])
def test_one_row_is_not_joined_in_every_way(join: str) -> None:
    one_row = "LATERAL (SELECT MAX(e) AS a FROM t WHERE t.a = s.a) v"
    on = "" if "NATURAL" in join else " ON v.a > 1"
    message = sql_refusal(f"SELECT s.b FROM s {join} {one_row}{on}")[2]
    assert message == "this join with a LATERAL sub-query of one row is not supported"
