"""A younger query prepares that its elders can share its groups: functions, finer groups, coarser ones."""

from __future__ import annotations

from seine.algebra.plan import Query
from seine.frontends.script.parser import parse_script
from seine.network.groups.kin_groups import KinGroups
from seine.network.network import Network
from seine.network.show.explain import story_text
from seine.operators.group.aggregate import AggregateNode

STREAMS = """\
CREATE STREAM s (k BIGINT, d BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 20 FROM 's.jsonl';
CREATE STREAM u (k BIGINT, d BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'u.jsonl';
"""
COUNTS = "SELECT k, COUNT(*) AS n FROM s WHERE v > 5 GROUP BY k"
SUMS = "SELECT k, SUM(v) AS total FROM s WHERE v > 5 GROUP BY k"
FINE = "SELECT k, d, COUNT(*) AS n FROM s WHERE v > 5 GROUP BY k, d"
DAYS = "SELECT d, SUM(v) AS total FROM s WHERE v > 5 GROUP BY d"
KEPT = "kept for queries of another age"
ALL = "SELECT COUNT(*) AS n FROM s WHERE v > 5"


class Live:
    """A live network; each query is of an epoch of its own, and has run before the next one comes."""

    def __init__(self) -> None:
        self.network = Network(live=True)
        self.network.stages = 4
        self.queries: dict[str, Query] = {}
        self.births: dict[str, int] = {}

    def add(self, name: str, sql: str) -> None:
        text = f"{STREAMS}CREATE QUERY {name} WITH (unbounded = true) AS {sql};"
        self.queries[name] = parse_script(text, file="x.sql", folder="/data").declarations.queries[name]
        self.births[name] = len(self.births) + 1
        self.network.add(self.queries[name], self.births[name])
        self.network.commit()

    def move(self, name: str, to: str) -> bool:
        """Let a query go over to the groups of another one's birth."""
        moved = self.network.move(self.queries[name], self.births[to], to)
        self.network.commit()
        return moved

    def story(self, name: str) -> str:
        streams = parse_script(STREAMS, file="x.sql", folder="/data").declarations.streams
        return story_text(self.network, streams, name)

    def restart(self) -> None:
        stages = self.network.stages
        self.network = Network.of(self.network.record())
        self.network.stages = stages

    def state(self) -> tuple[int, int, int]:
        """How many aggregates there are, how many of them are made of others, and how many tags."""
        nodes = [node for node in self.network if isinstance(node, AggregateNode)]
        return len(nodes), sum(node.regroups for node in nodes), len(self.network._site.tags)


def test_an_added_function_finds_the_groups_that_stand() -> None:
    live = Live()
    live.add("q1", COUNTS)
    live.add("q2", SUMS)
    assert live.state() == (2, 0, 2)
    assert live.move("q1", to="q2")
    assert live.state() == (1, 0, 1)
    live.add("q3", COUNTS)
    assert live.state() == (1, 0, 2), "it has what the groups that stand have"
    assert live.move("q3", to="q2")
    assert live.state() == (1, 0, 1)


def test_groups_of_joined_rows_are_extended_like_others() -> None:
    live = Live()
    joined = "SELECT a.k, {} FROM s a, s b WHERE a.k = b.k AND a.v > 5 GROUP BY {}"
    live.add("q1", joined.format("COUNT(*) AS n", "a.k"))
    live.add("q2", joined.format("b.d, SUM(b.v) AS total", "a.k, b.d"))
    assert live.state() == (3, 1, 2)
    assert live.move("q1", to="q2")
    assert live.state() == (2, 1, 1)
    live.add("q3", joined.format("MAX(b.v) AS top", "a.k"))
    assert live.network.move(live.queries["q1"], live.births["q3"], "q3")


def test_functions_of_groups_without_keys_are_added_too() -> None:
    live = Live()
    live.add("q1", ALL)
    live.add("q2", "SELECT MAX(v) AS top FROM s WHERE v > 5")
    assert live.state() == (2, 0, 0)
    assert live.move("q1", to="q2")
    assert live.state() == (1, 0, 0)


def test_coarser_groups_find_the_finer_ones_that_stand() -> None:
    live = Live()
    live.add("q1", FINE)
    live.add("q2", COUNTS)
    assert live.state() == (2, 1, 2), "of finer groups of its own birth"
    assert live.move("q1", to="q2")
    assert live.state() == (2, 1, 1)


def test_finer_groups_find_the_coarser_ones_that_stand() -> None:
    live = Live()
    live.add("q1", COUNTS)
    live.add("q2", FINE)
    assert live.state() == (3, 1, 2), "coarser ones of its own birth are kept for the elder"
    assert KEPT in live.story("q2") and KEPT not in live.story("q1")
    assert live.move("q1", to="q2")
    assert live.state() == (2, 1, 1)
    live.network.remove("q1")
    assert live.move("q2", to="q2"), "it keeps them no longer"
    assert KEPT not in live.story("q2")
    assert live.state() == (1, 0, 1)


def test_all_kin_goes_over_to_the_youngest() -> None:
    live = Live()
    live.add("q1", FINE)
    live.add("q2", COUNTS)
    assert live.move("q1", to="q2")
    live.restart()
    live.add("q3", DAYS)
    assert live.state() == (3, 2, 2)
    assert live.move("q1", to="q3") and live.move("q2", to="q3")
    assert live.state() == (3, 2, 1)
    live.add("q4", ALL)
    assert live.state() == (4, 3, 2)
    assert all(live.move(name, to="q4") for name in ("q1", "q2", "q3"))
    assert live.state() == (4, 3, 1)
    for name in ("q1", "q2", "q3", "q4"):
        live.network.remove(name)
    assert not live.network.nodes and not live.network._site.tags and not live.network.tables


def test_nothing_is_prepared_that_can_never_be_shared() -> None:
    live = Live()
    live.add("q1", COUNTS.replace("FROM s", "FROM u"))
    live.add("q2", SUMS.replace("FROM s", "FROM u"))  # without a window
    live.add("q3", FINE.replace("FROM s", "FROM u"))
    assert live.state() == (3, 0, 3)
    assert all(len(node.calls) == 1 for node in live.network if isinstance(node, AggregateNode))


def test_other_constants_are_no_kin() -> None:
    live = Live()
    live.add("q1", COUNTS)
    live.add("q2", SUMS.replace("v > 5", "v > 6"))
    assert [len(node.calls) for node in live.network if isinstance(node, AggregateNode)] == [1, 1]


def test_kin_is_found_again_after_a_restart() -> None:
    for first in (COUNTS, ALL, FINE):
        live = Live()
        live.add("q1", first)
        live.add("q2", first)
        known = live.network._kin_groups()._families
        assert KinGroups.standing(live.network._site)._families == known
