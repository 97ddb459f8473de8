"""Processes that die without a fault: after some deaths at one entry its heaviest query fails, alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seine.runtime.suspects import DEATHS_TO_SUSPECT, MOST_SUSPECTS
from tests.support.service_rig import STREAM, Rig

QUERIES = """CREATE QUERY few AS SELECT a FROM s WHERE a < 3;
CREATE QUERY cross AS SELECT x.a AS a, y.a AS b FROM s x, s y WHERE x.a < 100000 AND y.a < 100000;
CREATE QUERY little AS SELECT x.a AS a, y.a AS b FROM s x, s y WHERE x.a < 2 AND y.a < 2;"""


class Killed(Exception):
    """What a host hears of a worker that the operating system has killed."""


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    rig.register(STREAM + QUERIES)
    rig.feed(*range(50))
    yield rig
    rig.service.close()


def die(rig: Rig, times: int = 1) -> None:
    def work(number: int) -> Any:
        raise Killed

    for _ in range(times):
        with pytest.raises(Killed):
            rig.service.driver.run_some(work)
        rig.service.driver.settle_death()


def states(rig: Rig) -> dict[str, str]:
    return {one["query"]: one["state"] for one in rig.service.queries()}


def test_the_heaviest_query_fails_after_some_deaths_at_one_entry(rig: Rig) -> None:
    die(rig, DEATHS_TO_SUSPECT - 1)
    assert set(states(rig).values()) == {"running"}
    die(rig)
    assert states(rig) == {"few": "running", "cross": "failed", "little": "running"}
    failure = rig.service.query("cross")["failure"]
    assert failure is not None and failure["kind"] == "memory"
    assert failure["reason"] == "it is the heaviest of entry 0, where processes died 4 times: out of memory?"
    rig.run()
    assert len(rig.records("few")) == 3 and len(rig.records("little")) == 4 and rig.records("cross") == []


def test_deaths_at_different_entries_blame_nobody(rig: Rig) -> None:
    for value in range(2 * DEATHS_TO_SUSPECT):
        die(rig)
        rig.run()
        rig.feed(value)
    assert set(states(rig).values()) == {"running"}


def test_deaths_without_an_entry_blame_nobody(rig: Rig) -> None:
    rig.run()
    for _ in range(3 * DEATHS_TO_SUSPECT):
        rig.service.driver.settle_death()
    assert set(states(rig).values()) == {"running"}


def test_after_some_suspects_nobody_else_is_blamed(rig: Rig) -> None:
    rig.register("".join(f"CREATE QUERY q{i} AS SELECT a FROM s WHERE a < {i};" for i in range(9)))
    die(rig, 10 * DEATHS_TO_SUSPECT)
    assert [*states(rig).values()].count("failed") == MOST_SUSPECTS
    rig.run()
    assert len(rig.records("few")) == 3


def test_of_equally_heavy_queries_the_newest_fails_alone(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.register(STREAM + "CREATE QUERY old AS SELECT a FROM s;")
    rig.register("CREATE QUERY young AS SELECT a + 1 AS b FROM s;")
    rig.feed(*range(5))
    die(rig, DEATHS_TO_SUSPECT)
    assert states(rig) == {"old": "running", "young": "failed"}
    rig.run()
    assert len(rig.records("old")) == 5
    rig.service.close()
