"""Safe but not runnable: the reasons are told, and a run shows that they are true."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from seine.algebra.expressions import Column
from seine.algebra.functions import resolve_call
from seine.algebra.plan import Join, Plan, Project, Query, Scan, Select
from seine.algebra.types import BIGINT
from seine.network.network import build_network
from seine.safety.states.runnable import COMPUTED, JOINED
from seine.safety.verdict import verdict
from seine.safety.verdict_story import story
from tests.support.built_purges import streams_freed_by_joins
from tests.support.freed_runs import Stream, fed, joined_starts, query_of, write_script
from tests.support.front_end import parse

PUNCTUATED = {name: Stream([("a",)]) for name in "xyz"}


def joined(levels: int) -> Query:
    """A stream with a column doubled so many times, written out twice each time, joined with y by another."""
    text = "\n".join(PUNCTUATED[name].declared(name) for name in "xy")
    streams = parse(text).declarations.streams
    rows: Plan = Scan(streams["x"], "x")
    key, value = Column(0, BIGINT), Column(1, BIGINT)
    for _ in range(levels):
        rows = Project(rows, (key, resolve_call("add", [value, value])), ("k", "v"))
    plan = Join(rows, Scan(streams["y"], "y"))
    first = Column(len(rows.schema), BIGINT)
    return Query("q", Select(plan, resolve_call("eq", [key, first])), (("unbounded", True),))


def test_joins_with_columns_too_large_to_be_inlined() -> None:
    query = joined(12)
    judged = verdict(query)
    assert not judged.safe and COMPUTED in judged.reason
    assert f"y: never freed: {COMPUTED}" in story(query.plan)
    assert not all(streams_freed_by_joins(build_network([query]), query).values())


def test_columns_that_are_inlined() -> None:
    query = joined(5)
    assert verdict(query).safe
    assert all(streams_freed_by_joins(build_network([query]), query).values())


def test_large_columns_above_a_join(tmp_path: Path) -> None:
    rows = "SELECT x.a AS k, y.b AS v FROM x, y WHERE x.a = y.a"
    for level in range(12):
        rows = f"SELECT k, v * v AS v FROM ({rows}) t{level}"
    path = write_script(Random(1), tmp_path, PUNCTUATED, f"SELECT k, v FROM ({rows}) u")
    assert verdict(query_of(path)).safe
    assert joined_starts(fed(path, 20)) == []


@pytest.mark.parametrize(
    ("clauses", "text"),
    [
        ("", "SELECT g.n FROM (SELECT a, COUNT(*) AS n FROM x GROUP BY a) g, y WHERE g.n = y.a"),
        ("", "SELECT u.b FROM (SELECT b FROM x UNION SELECT b FROM z) u, y WHERE u.b = y.a"),
        (" WINDOW 5 RETRACTABLE", "SELECT x.a FROM x, y WHERE x.a = y.a"),
    ],
)
def test_joins_with_rows_that_may_end(clauses: str, text: str, tmp_path: Path) -> None:
    streams = {**PUNCTUATED, "x": Stream([("a",)], clauses)}
    path = write_script(Random(3), tmp_path, streams, text)
    judged = verdict(query_of(path))
    assert not judged.safe and JOINED in judged.reason
    assert joined_starts(fed(path, 20))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT g.n FROM (SELECT a, COUNT(*) AS n FROM x GROUP BY a) g, y WHERE g.a = y.a",
        "SELECT g.n FROM (SELECT a, b, COUNT(*) AS n FROM x GROUP BY a, b) g, y"
        " WHERE g.a = y.a AND g.b = y.b",
        "SELECT u.a FROM (SELECT a FROM x UNION SELECT a FROM z) u, y WHERE u.a = y.a",
        "SELECT d.a FROM (SELECT a, c FROM x EXCEPT SELECT a, c FROM z) d, y WHERE d.a = y.a",
        "SELECT g.n FROM (SELECT ts - ts % 5 AS t, COUNT(*) AS n FROM x GROUP BY ts - ts % 5) g, y"
        " WHERE g.t = y.ts",
    ],
)
def test_joins_with_rows_that_become_final(text: str, tmp_path: Path) -> None:
    path = write_script(Random(3), tmp_path, PUNCTUATED, text)
    assert verdict(query_of(path)).safe
    pipeline = fed(path, 20)
    assert joined_starts(pipeline) == [] and sum(map(len, pipeline.records))


def test_a_column_compared_as_it_is_and_through_a_cast(tmp_path: Path) -> None:
    """Its punctuations belong to the group of the plain equality, on which the check counts."""
    streams = {
        "w": Stream([], " WINDOW 5"),
        "x": Stream([("a",)], " WINDOW 5"),
        "y": Stream([("c",)], types={"c": "INT"}),
        "z": Stream([("c",)], types={"c": "INT"}),
    }
    equal = "x.b = w.a AND y.c = x.b AND z.c = y.c AND z.c = y.b AND x.ts <= y.ts + y.b"
    path = write_script(Random(4), tmp_path, streams, f"SELECT z.ts AS t FROM w, x, y, z WHERE {equal}")
    assert verdict(query_of(path)).safe
    assert joined_starts(fed(path, 20)) == []
