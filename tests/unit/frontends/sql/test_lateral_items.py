"""LATERAL sub-queries are the plans of the spellings that they stand for."""

from __future__ import annotations

import pytest

from tests.support.front_end import plan_of, sql_refusal

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
        ("SELECT e FROM t WHERE t.e > s.a ORDER BY e LIMIT 3", "LATERAL is not supported for this sub-query"),
        ("SELECT DISTINCT e FROM t WHERE t.a = s.a LIMIT 3", "LATERAL is not supported for this sub-query"),
        (
            "SELECT e, RANK() OVER (ORDER BY e) AS r FROM t WHERE t.a = s.a",
            "LATERAL is not supported for this sub-query",
        ),
        (
            "SELECT e FROM t WHERE t.a = s.a UNION ALL SELECT e FROM t",
            "LATERAL is not supported for this sub-query",
        ),
        ("SELECT e FROM t WHERE t.a = s.a LIMIT 3", "LIMIT needs an order"),
        (
            "SELECT e FROM t WHERE CAST(t.e AS STRING) = s.a ORDER BY e LIMIT 3",
            "the keys of this LATERAL sub-query are STRING inside and BIGINT outside",
        ),
    ],
)
def test_what_stands_for_nothing_is_refused(lateral: str, reason: str) -> None:
    assert sql_refusal(f"SELECT v.e FROM s, LATERAL ({lateral}) v")[2] == reason


def test_a_value_is_not_of_rows_without_a_partner() -> None:
    count = "LATERAL (SELECT COUNT(*) AS n FROM t WHERE t.a = s.a) v"
    message = sql_refusal(f"SELECT v.n, r.a FROM s CROSS JOIN {count} RIGHT JOIN r ON r.a = s.a")[2]
    assert message == "LATERAL is not supported for this sub-query"


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
    assert hint == "say which: s.b, or with the alias of the LATERAL item"
