"""What runs can be asked for with SQL: nodes, what they read and ask, their ancestors, and who uses them."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import Mock

import pytest

from seine.catalog.catalog_change import CatalogChange
from seine.errors import SeineError
from seine.service import node_rows
from tests.support.service_rig import Rig, rig_of_two_streams

PAIR = "SELECT s.a FROM s, t WHERE s.a = t.a AND "


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setattr(node_rows, "PAUSE_SECONDS", 0.0)
    yield from rig_of_two_streams(tmp_path)


def ask(rig: Rig, sql: str) -> list[tuple[Any, ...]]:
    """What a user gets who opens the catalog's file."""
    path = rig.folder / "state" / "catalog.db"
    with sqlite3.connect(path) as connection:
        return connection.execute(sql).fetchall()


def shown(rig: Rig) -> int:
    """The version of the network that the rows show."""
    return json.loads(ask(rig, "SELECT value FROM seine_setting WHERE name = 'nodes'")[0][0])


def await_rows(rig: Rig) -> None:
    deadline = time.monotonic() + 30
    while shown(rig) != rig.service.registrar.view.version:
        assert time.monotonic() < deadline, "the rows did not follow"
        time.sleep(0.01)


NODES = "SELECT id, kind, stage FROM seine_node ORDER BY id"
USERS = (
    "SELECT u.node_id, q.name FROM seine_node_user u JOIN seine_query q ON q.id = u.query_id ORDER BY 1, 2"
)
INPUTS = """SELECT n.id, i.input_id FROM seine_node n JOIN seine_node_input i ON i.node_row = n."row"
ORDER BY 1, i.port"""


def agrees(rig: Rig) -> int:
    """Compare the relations with the network that runs; the result is the number of its nodes."""
    await_rows(rig)
    network = rig.service.registrar.network
    nodes = sorted(network.nodes.values(), key=lambda node: node.id)
    assert ask(rig, NODES) == [(node.id, node.kind, node.stage) for node in nodes]
    assert ask(rig, INPUTS) == [(node.id, below) for node in nodes for below in node.inputs]
    used = [(i, name) for name in network.queries for i in network.used_nodes(name)]
    assert ask(rig, USERS) == sorted({*used})
    shapes = [(node.id, len(node.conditions)) for node in nodes if node.conditions]
    assert ask(rig, "SELECT node_id, COUNT(*) FROM seine_node_predicate GROUP BY 1 ORDER BY 1") == shapes
    return len(nodes)


def test_the_relations_are_the_network_whatever_comes_and_goes(rig: Rig) -> None:
    rig.register(f"CREATE QUERY one AS {PAIR}t.b > 3;")
    few = agrees(rig)
    rig.register(
        f"CREATE QUERY two AS {PAIR}t.b > 3 AND s.a < 7; CREATE QUERY n AS SELECT COUNT(*) AS n FROM s;"
    )
    assert agrees(rig) > few
    rig.service.registrar.drop("n")
    rig.service.registrar.pause("one")
    assert agrees(rig) == few
    rig.service.registrar.resume("one")
    rig.service.registrar.drop("two")
    assert agrees(rig) == few
    rig.crash()
    rig.register("CREATE QUERY later AS SELECT DISTINCT a FROM t;")
    assert agrees(rig) > few


def test_a_user_sees_who_shares_a_join_and_what_it_stands_on(rig: Rig) -> None:
    rig.register(f"CREATE QUERY one AS {PAIR}t.b > 3; CREATE QUERY two AS {PAIR}t.b > 4;")
    await_rows(rig)
    shared = """SELECT n.kind, COUNT(*) FROM seine_node n JOIN seine_node_user u ON u.node_id = n.id
    WHERE n.kind = 'join' GROUP BY n.id"""
    assert ask(rig, shared) == [("join", 2)]
    above = """SELECT a.role, d.kind FROM seine_node n JOIN seine_node_ancestor a ON a.node_id = n.id
    JOIN seine_node d ON d.id = a.ancestor_id WHERE n.kind = '{}' ORDER BY a.role, a.place"""
    assert ask(rig, above.format("join")) == [("join", "source"), ("join", "source"), ("selection", "join")]
    assert ask(rig, above.format("deliver")) == [("join", "source")] * 2 + [("selection", "join")]
    assert {*ask(rig, above.format("prefilter"))} == {("selection", "source")}
    shapes = """SELECT p.shape FROM seine_node n JOIN seine_node_predicate p ON p.node_id = n.id
    WHERE n.kind = 'prefilter'"""
    assert any("?" in shape for (shape,) in ask(rig, shapes))


def test_a_change_is_true_before_its_rows_and_a_crash_between_leaves_no_trace(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.register(f"CREATE QUERY one AS {PAIR}t.b > 3;")
    few = agrees(rig)
    rig.service._node_rows.close()
    rig.register(f"CREATE QUERY two AS {PAIR}t.b > 4; CREATE QUERY n AS SELECT COUNT(*) AS n FROM s;")
    rig.service.registrar.drop("one")
    assert shown(rig) < rig.service.registrar.view.version
    assert len(ask(rig, NODES)) == few
    rig.crash()
    assert agrees(rig) > few


def test_changes_that_come_together_are_written_once(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    agrees(rig)
    monkeypatch.setattr(node_rows, "PAUSE_SECONDS", 3600.0)
    for number in range(3):
        rig.register(f"CREATE QUERY q{number} AS {PAIR}t.b > {number};")
    versions = "SELECT version FROM seine_network_version ORDER BY 1"
    assert (shown(rig), ask(rig, versions)) == (0, [(1,), (2,), (3,)])
    rig.service.close()  # it writes what is left
    assert (shown(rig), ask(rig, versions)) == (3, [(3,)])
    rig.open()
    agrees(rig)


def test_rows_of_what_runs_are_written_when_the_disk_takes_them_again(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    agrees(rig)
    write, failures = CatalogChange.write_nodes, iter([SeineError("the disk is full")] * 2)

    def fail_twice(*arguments: Any, **named: Any) -> None:
        for failure in failures:
            raise failure
        write(*arguments, **named)

    monkeypatch.setattr(CatalogChange, "write_nodes", fail_twice)
    rig.register(f"CREATE QUERY one AS {PAIR}t.b > 3;")
    agrees(rig)
    assert [record.error for record in caplog.records if "rows of nodes" in record.message] == [
        "the disk is full"
    ] * 2


def test_it_ends_when_it_is_closed_as_a_pause_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ending(Event):
        """Each pause is over at the moment before somebody closes."""

        def wait(self, timeout: float | None = None) -> bool:
            if timeout is None:
                return super().wait()
            before = self.is_set()
            rows._ended.set()
            rows._changed.set()
            return before

    monkeypatch.setattr(node_rows, "Event", Ending)
    monkeypatch.setattr(node_rows.NodeRows, "_write", lambda *_: None)
    rows = node_rows.NodeRows.__new__(node_rows.NodeRows)
    rows.__init__(Mock(), Mock())  # type: ignore[misc]
    rows._thread.join(10.0)
    assert not rows._thread.is_alive()
