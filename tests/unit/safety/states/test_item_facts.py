"""Which groups are few whatever comes, and which are not."""

from __future__ import annotations

import pytest

from seine.safety.verdict import verdict
from tests.support.front_end import parse

STREAMS = """\
CREATE STREAM n (k BIGINT, v BIGINT, s STRING, ok BOOLEAN, d DATE, ts BIGINT) TIMESTAMP BY ts FROM 'n';
CREATE STREAM w (k BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'w';
CREATE RELATION r (k BIGINT, b BIGINT) FROM 'r';
"""


def is_safe(sql: str) -> bool:
    return verdict(parse(f"{STREAMS}CREATE QUERY q AS {sql};").declarations.queries["q"]).safe


@pytest.mark.parametrize(
    ("key", "where", "few"),
    [
        ("ok", "", True),
        ("v > 3", "", True),
        ("s LIKE 'a%'", "", True),
        ("CASE WHEN v > 3 THEN 'big' ELSE 'small' END", "", True),
        ("v % 3", "", True),
        ("pmod(v, 3)", "", True),
        ("k", "k IN (1, 2, 5)", True),
        ("k", "k > 0 AND k <= 1000", True),
        ("k + 1", "k = 1 OR k = 2 OR k IS NULL", True),
        ("s", "s IN ('a', 'b') OR s IS NULL", True),
        ("upper(s)", "s = 'a'", True),
        ("d", "d BETWEEN DATE '2020-01-01' AND DATE '2020-01-31'", True),
        ("k", "k > 0 AND k <= 1001", False),
        ("v % 1001", "", False),
        ("v % k", "", False),
        ("k", "", False),
        ("k", "k > 3", False),
        ("k", "k NOT IN (1, 2)", False),
        ("k", "k = 1 OR v = 1", False),
        ("k", "k = 1 OR k > 7", False),
        ("s", "s >= 'a' AND s <= 'b'", False),
        ("s", "s LIKE 'a%'", False),
        ("if(ok, k, 0)", "", False),
        ("v + v % 3", "", False),
        ("year(d)", "", False),
    ],
)
def test_groups_and_distinct_rows_by_few_values_are_safe(key: str, where: str, few: bool) -> None:
    rows = f"FROM n WHERE {where or 'TRUE'}"
    assert is_safe(f"SELECT {key} AS x, COUNT(*) AS c, MAX(v) AS m {rows} GROUP BY {key}") == few
    assert is_safe(f"SELECT DISTINCT {key} AS x {rows}") == few
    assert is_safe(f"SELECT {key} AS x {rows} UNION SELECT {key} {rows} AND v > 0") == few
    assert is_safe(f"SELECT {key} AS x {rows} EXCEPT SELECT {key} {rows} AND v > 0") == few
    assert is_safe(f"SELECT {key} AS x {rows} INTERSECT SELECT {key} {rows} AND v > 0") == few


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ok, COUNT(DISTINCT v) AS c FROM n GROUP BY ok",
        "SELECT ok, MEDIAN(v) AS c FROM n GROUP BY ok",
        "SELECT ok FROM n EXCEPT ALL SELECT v > 3 FROM n",
        "SELECT ok FROM n INTERSECT ALL SELECT v > 3 FROM n",
        "SELECT ok FROM n WHERE v IN (SELECT k FROM n)",
        "SELECT ok, k, COUNT(*) AS c FROM n GROUP BY ok, k",
        "SELECT ok FROM n UNION SELECT k > v FROM n EXCEPT SELECT x.ok FROM n x, n y WHERE x.k = y.k",
        "SELECT x.ok, COUNT(*) AS c FROM n x, n y WHERE x.k = y.k GROUP BY x.ok",
    ],
)
def test_few_groups_do_not_help_where_more_is_kept(sql: str) -> None:
    assert not is_safe(sql)


def test_a_column_equal_to_a_listed_one_is_listed() -> None:
    assert is_safe("SELECT n.k AS x, COUNT(*) AS c FROM n, r WHERE n.k = r.k AND n.v = r.b GROUP BY n.k")
    assert is_safe("SELECT k AS x, COUNT(*) AS c FROM n WHERE k = v AND v IN (1, 2) GROUP BY k")


@pytest.mark.parametrize(
    ("call", "where", "few"),
    [("AVG(c)", "k IN (1, 2)", True), ("AVG(c)", "k > 2", False), ("MAX(c)", "k IN (1, 2)", False)],
)
def test_groups_of_groups_with_few_values(call: str, where: str, few: bool) -> None:
    beneath = f"SELECT k, ts DIV 60 AS t, COUNT(*) AS c FROM n WHERE {where} GROUP BY k, ts DIV 60"
    assert is_safe(f"SELECT k, {call} AS x FROM ({beneath}) GROUP BY k") == few
