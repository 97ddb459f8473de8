"""Which columns identify the rows of a query."""

from __future__ import annotations

import pytest

from seine.algebra.rank_plan import identifying_columns
from seine.frontends.script.parser import parse_script

STREAM = "CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 's.jsonl';"


_RANKED = (
    "SELECT a, b, n FROM (SELECT a, b, {}() OVER (PARTITION BY a ORDER BY b) AS n FROM s) x WHERE n <= {}"
)


@pytest.mark.parametrize(
    ("select", "names"),
    [
        ("SELECT COUNT(*) AS n, b, a FROM s GROUP BY a, b", {"a", "b"}),
        ("SELECT b AS k, COUNT(*) AS n FROM s GROUP BY b HAVING COUNT(*) > 1", {"k"}),
        ("SELECT COUNT(*) AS n FROM s", set()),
        ("SELECT COUNT(*) AS n FROM s GROUP BY a", None),
        ("SELECT a + 1 AS a, COUNT(*) AS n FROM s GROUP BY a", None),
        ("SELECT DISTINCT a, b FROM s", {"a", "b"}),
        ("SELECT a FROM s UNION SELECT b FROM s", {"a"}),
        ("SELECT a FROM s EXCEPT SELECT b FROM s", {"a"}),
        ("SELECT a, b FROM s INTERSECT SELECT b, a FROM s", {"a", "b"}),
        ("SELECT a FROM s EXCEPT ALL SELECT b FROM s", None),
        ("SELECT DISTINCT a FROM s EXCEPT ALL SELECT b FROM s", {"a"}),
        ("SELECT a FROM s UNION ALL SELECT b FROM s", None),
        ("SELECT a, b FROM s", None),
        (_RANKED.format("ROW_NUMBER", 1), {"a"}),
        (_RANKED.format("ROW_NUMBER", 3), {"a", "n"}),
        (_RANKED.format("RANK", 3), None),
        (
            "SELECT x.a AS a, y.b AS b, x.n AS n FROM (SELECT a, COUNT(*) AS n FROM s GROUP BY a) x"
            " JOIN (SELECT b, COUNT(*) AS m FROM s GROUP BY b) y ON x.n = y.m",
            {"a", "b"},
        ),
    ],
)
def test_the_key_of_a_query(select: str, names: set[str] | None) -> None:
    script = parse_script(f"{STREAM} CREATE QUERY q AS {select};", file="x.sql", folder="/")
    query = script.declarations.queries["q"]
    places = identifying_columns(query.plan)

    assert (None if places is None else {query.plan.schema[one].name for one in places}) == names
