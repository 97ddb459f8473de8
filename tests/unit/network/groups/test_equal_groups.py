"""Groups of queries of different births: which are equal in time, and how a query goes over to them."""

from __future__ import annotations

import pytest

from seine.algebra.plan import Query
from seine.frontends.script.parser import parse_script
from seine.network.network import Network

STREAMS = """\
CREATE STREAM s (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 20 FROM 's.jsonl';
CREATE STREAM t (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 't.jsonl';
"""
GROUPED = "SELECT k, COUNT(*) AS n FROM s WHERE v > 5 GROUP BY k"


class Live:
    """A live network; each query is committed before the next one comes."""

    def __init__(self) -> None:
        self.network = Network(live=True)
        self.network.stages = 4

    def add(self, name: str, sql: str, born: int) -> None:
        text = f"{STREAMS}CREATE QUERY {name} AS {sql};"
        self.network.add(self._query(text, name), born)
        self.network.commit()

    def move(self, name: str, sql: str, born: int, beside: str) -> bool:
        query = self._query(f"{STREAMS}CREATE QUERY {name} AS {sql};", name)
        moved = self.network.move(query, born, beside)
        self.network.commit()
        return moved

    @staticmethod
    def _query(text: str, name: str) -> Query:
        return parse_script(text, file="x.sql", folder="/data").declarations.queries[name]

    def content(self) -> object:
        """All of it but the numbers that come next."""
        record = self.network.record()
        rows = {i: table.rows for i, table in record.tables.items()}
        return record.version, record.nodes, rows, record.tags, record.queries

    def state(self) -> tuple[int, int]:
        """How many stateful nodes there are, and how many tags tell their rows apart."""
        return sum(node.stateful for node in self.network), len(self.network._site.tags)


SAME = (
    (GROUPED, "SELECT k AS x, COUNT(*) AS y FROM s WHERE NOT v <= 5 GROUP BY k"),
    ("SELECT COUNT(*) AS n FROM s", "SELECT COUNT(*) + 1 AS n FROM s"),
    ("SELECT DISTINCT k FROM s WHERE v > 9", "SELECT k FROM s WHERE v > 9 GROUP BY k"),
    ("SELECT k FROM s UNION SELECT k FROM t", "SELECT k FROM t UNION SELECT k FROM s"),
    ("SELECT k FROM s EXCEPT SELECT k FROM t", "SELECT k FROM s EXCEPT SELECT k FROM t"),
    ("SELECT k FROM s UNION ALL SELECT k FROM t", "SELECT k FROM s UNION ALL SELECT k FROM t"),
    (
        "SELECT s.k, COUNT(*) AS n FROM s, t WHERE s.k = t.k AND s.v > 3 GROUP BY s.k",
        "SELECT t.k, COUNT(*) AS n FROM t, s WHERE t.k = s.k AND s.v > 3 GROUP BY t.k",
    ),
    (
        "SELECT v, COUNT(*) AS n FROM (SELECT DISTINCT k, v FROM s) d GROUP BY v",
        "SELECT v, COUNT(*) AS m FROM (SELECT DISTINCT k, v FROM s) d GROUP BY v",
    ),
    (
        "SELECT g.n, t.v FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) g, t WHERE g.k = t.k",
        "SELECT g.n, t.v FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) g, t WHERE g.k = t.k",
    ),
)


@pytest.mark.parametrize("sqls", SAME, ids=str)
def test_a_younger_query_goes_over_to_equal_groups(sqls: tuple[str, str]) -> None:
    live = Live()
    live.add("q1", sqls[0], 3)
    before = live.state()
    live.add("q2", sqls[1], 9)
    assert live.state() > before
    assert live.network.equal_groups("q1")[0] == live.network.equal_groups("q2")[0]
    assert live.move("q2", sqls[1], 3, "q1")
    assert live.state() == before
    assert Network.of(live.network.record()).record() == live.network.record()
    live.network.remove("q1")
    assert live.state() == before, "they stay as long as somebody has them"
    live.network.remove("q2")
    assert not live.network.nodes and not live.network.tables and not live.network._site.tags


OTHERS = (
    "SELECT k, COUNT(*) AS n FROM s WHERE v > 6 GROUP BY k",  # another constant
    "SELECT k, COUNT(*) AS n FROM s GROUP BY k",
    "SELECT k, v, COUNT(*) AS n FROM s WHERE v > 5 GROUP BY k, v",
    "SELECT k, COUNT(*) AS n FROM t WHERE v > 5 GROUP BY k",
    "SELECT DISTINCT k FROM s WHERE v > 9",
    "SELECT k, v FROM s WHERE v > 5",
)


@pytest.mark.parametrize("sql", OTHERS)
def test_other_groups_are_others_whatever_the_birth(sql: str) -> None:
    live = Live()
    live.add("q1", GROUPED, 3)
    live.add("q2", sql, 6)  # a birth that is a constant of a query, too
    assert live.network.equal_groups("q1") != live.network.equal_groups("q2")
    before = live.content()
    assert not live.move("q2", sql, 3, "q1")
    assert live.content() == before, "who cannot go over leaves no trace"


def test_a_constant_that_equals_a_birth_is_a_constant() -> None:
    live = Live()
    live.add("q1", GROUPED, 5)
    live.add("q2", GROUPED, 7)
    assert live.network.equal_groups("q1") == live.network.equal_groups("q2")


def test_who_delivers_plain_rows_has_no_groups() -> None:
    live = Live()
    live.add("q1", "SELECT k FROM s WHERE v > 5", 3)
    live.add("q2", "SELECT s.k FROM s, t WHERE s.k = t.k", 4)
    live.add("q3", "SELECT k, COUNT(*) AS n FROM s GROUP BY k", 5)
    assert [live.network.equal_groups(name) for name in ("q1", "q2")] == [[], []]
    assert len(live.network.equal_groups("q3")) == 1


def test_nobody_goes_over_to_groups_of_which_too_little_was_emitted() -> None:
    """Groups of fewer than seven rows were never emitted there: their ends would be missing."""
    large = "SELECT k, COUNT(*) AS n, MAX(v) AS top FROM s WHERE v > 5 GROUP BY k HAVING COUNT(*) >= 7"
    live = Live()
    live.add("q1", GROUPED, 3)
    live.add("q2", large, 4)
    before = live.content()
    assert not live.move("q1", GROUPED, 4, "q2")
    assert live.content() == before
    live.add("q3", "SELECT k, MAX(v) AS top FROM s WHERE v > 1 GROUP BY k", 5)  # all are emitted, from now on
    assert not live.move("q1", GROUPED, 4, "q2")
    larger = GROUPED + " HAVING COUNT(*) > 9"
    live.add("q4", larger, 6)
    assert live.move("q4", larger, 4, "q2")
