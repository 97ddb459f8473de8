"""Queries of a service come to share groups one window after the younger of them was registered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from seine.lifecycle import settled_births
from seine.service.catalog_record import CatalogRecord
from tests.support.service_rig import STREAM, Rig

COUNTS = "SELECT a, COUNT(*) AS n FROM s GROUP BY a"
TOTAL = "SELECT COUNT(*) AS n FROM s"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    (tmp_path / "s.jsonl").touch()
    rig = Rig(tmp_path)
    rig.register(STREAM)
    yield rig
    rig.service.close()


def births(rig: Rig) -> dict[str, int]:
    return {key: one.birth_epoch for key, one in rig.service.published.view.registered.items()}


def tags(rig: Rig) -> int:
    return len(rig.service.registrar.network._site.tags)


def feed(rig: Rig, *times: int) -> None:
    for time in times:
        rig.feed(1, ts=time)
        rig.run()


def restart(rig: Rig) -> None:
    """Kill the service and open it again; the state of its tasks outlives that."""
    host = rig.host
    rig.crash()
    host._deployment, rig.host = rig.service.deployment, host


def test_equal_groups_are_shared_when_what_came_before_has_expired(rig: Rig) -> None:
    rig.register(f"CREATE QUERY q AS {COUNTS};")
    feed(rig, 1, 5)
    rig.register(f"CREATE QUERY p AS {COUNTS};")
    feed(rig, 6, 15)  # the tuple of 5 lives until 15, and that instant is not complete yet
    assert births(rig) == {"q": 0, "p": 1} and tags(rig) == 2
    feed(rig, 16)
    assert births(rig) == {"q": 0, "p": 1}, "it is found before the next entry is cut"
    feed(rig, 17)
    assert births(rig) == {"q": 0, "p": 0} and tags(rig) == 1
    feed(rig, 18, 40)
    assert rig.records("p")[-8:] == rig.records("q")[-8:]
    assert rig.service.query("p")["since"]["entry"] == 2, "when it was registered is still told"


def test_nodes_without_keys_become_one(rig: Rig) -> None:
    rig.register(f"CREATE QUERY q AS {TOTAL};")
    feed(rig, 1)
    rig.register(f"CREATE QUERY p AS {TOTAL};")
    nodes = len(rig.service.registrar.network.nodes)
    feed(rig, 2, 12, 13)
    assert len(rig.service.registrar.network.nodes) < nodes
    assert births(rig) == {"q": 0, "p": 0}


def test_what_is_shared_outlives_a_restart_and_the_older_query(rig: Rig) -> None:
    rig.register(f"CREATE QUERY q AS {COUNTS};")
    feed(rig, 1)
    rig.register(f"CREATE QUERY p AS {COUNTS};")
    feed(rig, 2, 12, 13)
    restart(rig)
    assert births(rig) == {"q": 0, "p": 0} and tags(rig) == 1
    rig.service.registrar.drop("q")
    feed(rig, 14, 15, 16)
    assert rig.records("p")[-1] == {"a": 1, "n": 4}
    rig.service.registrar.drop("p")
    assert not rig.service.registrar.network.nodes


def test_a_restart_in_between_is_no_hindrance(rig: Rig) -> None:
    rig.register(f"CREATE QUERY q AS {COUNTS};")
    feed(rig, 1)
    rig.register(f"CREATE QUERY p AS {COUNTS};")
    feed(rig, 2)
    restart(rig)
    feed(rig, 12, 13)
    assert births(rig) == {"q": 0, "p": 0}


def test_a_crash_before_the_catalog_knows_leaves_all_as_it_was(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of the new version are there, and nothing names them."""
    rig.register(f"CREATE QUERY q AS {COUNTS};")
    feed(rig, 1)
    rig.register(f"CREATE QUERY p AS {COUNTS};")
    feed(rig, 2, 12)
    version = rig.service.published.view.version

    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(CatalogRecord, "enter_moves", killed)
        with pytest.raises(KeyboardInterrupt):
            feed(rig, 13)
    restart(rig)
    assert births(rig) == {"q": 0, "p": 1} and rig.service.published.view.version == version
    rig.run()  # the line that was admitted and in no entry is read again
    assert births(rig) == {"q": 0, "p": 0}
    feed(rig, 14, 15)
    assert rig.records("p")[-3:] == rig.records("q")[-3:]


def test_many_queries_settle_a_few_at_a_time(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settled_births, "MOST_SETTLED_AT_ONCE", 1)
    rig.register(f"CREATE QUERY q AS {COUNTS}; CREATE QUERY q2 AS {COUNTS};")
    feed(rig, 1)
    more = "SELECT a, COUNT(*) AS n, SUM(a) AS total FROM s GROUP BY a"
    rig.register(f"CREATE QUERY p AS {more};")
    feed(rig, 2, 12)
    aggregates = []
    for time in range(13, 20):
        feed(rig, time)
        nodes = rig.service.registrar.network.nodes.values()
        aggregates.append(sum(node.kind == "aggregate" for node in nodes))
    assert aggregates[0] == 2 and aggregates[-1] == 1, "the older ones go over to more functions"
    assert births(rig) == {"q": 1, "q2": 1, "p": 1} and tags(rig) == 1
    assert rig.records("q2")[-3:] == rig.records("q")[-3:]


def test_a_query_that_is_paused_is_left_alone_and_begins_anew(rig: Rig) -> None:
    rig.register(f"CREATE QUERY q AS {COUNTS};")
    feed(rig, 1)
    rig.register(f"CREATE QUERY p AS {COUNTS};")
    feed(rig, 2)
    rig.service.registrar.pause("p")
    feed(rig, 12, 13, 14)
    assert births(rig) == {"q": 0, "p": 1}
    rig.service.registrar.resume("p")
    born = births(rig)["p"]
    assert born > 1
    feed(rig, 15, 23)
    assert births(rig)["p"] == born, "the tuple of 14 counts for the other one alone until 24"
    feed(rig, 25, 26)
    assert births(rig) == {"q": 0, "p": 0}


def test_what_has_no_window_never_settles(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "u.jsonl").touch()
    rig.register("CREATE STREAM u (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'u.jsonl';")
    options = "WITH (unbounded = true)"
    rig.register(f"CREATE QUERY q {options} AS SELECT a, COUNT(*) AS n FROM u GROUP BY a;")
    rig.feed(1, stream="u", ts=1)
    rig.run()
    rig.register(f"CREATE QUERY p {options} AS SELECT a, COUNT(*) AS n FROM u GROUP BY a;")
    for time in (100, 200, 300):
        rig.feed(1, stream="u", ts=time)
        rig.run()
    assert births(rig) == {"q": 0, "p": 1}


def test_groups_of_periods_settle_when_the_period_has_passed(rig: Rig, tmp_path: Path) -> None:
    """Without a window; nothing changes the groups of a period that is over."""
    (tmp_path / "u.jsonl").touch()
    rig.register("CREATE STREAM u (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'u.jsonl';")
    periods = "SELECT ts DIV 10 AS period, COUNT(*) AS n FROM u GROUP BY ts DIV 10"

    def feed_u(*times: int) -> None:
        for time in times:
            rig.feed(1, stream="u", ts=time)
            rig.run()

    rig.register(f"CREATE QUERY q AS {periods};")
    feed_u(12)
    rig.register(f"CREATE QUERY p AS {periods};")
    feed_u(13, 19, 19)
    assert births(rig) == {"q": 0, "p": 1}
    feed_u(20, 21)
    assert births(rig) == {"q": 0, "p": 0} and tags(rig) == 1
    feed_u(22, 31)
    assert rig.records("p") == [
        {"period": 1, "n": 1},
        {"period": 1, "n": 1},
        {"period": 1, "n": 3},
        {"period": 2, "n": 1},
        {"period": 2, "n": 1},
        {"period": 2, "n": 2},
        {"period": 2, "n": 2},
        {"period": 2, "n": 3},
    ]
    assert rig.service.status()["joined_births"] == 1
