"""A service whose processes get no more memory for a while: it says so in a line, and nothing is lost."""

from __future__ import annotations

import json
import re
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from seine.service.client import Client
from tests.support.processes import Process
from tests.support.service_process import ServiceProcess

pytestmark = [pytest.mark.spark, pytest.mark.long]

STREAM = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 1000000 FROM 's.jsonl';"
GOOD = "CREATE QUERY good AS SELECT a FROM s; CREATE QUERY sums AS SELECT a, COUNT(*) AS n FROM s GROUP BY a;"


class Starved:
    """A service and its stream; processes of it are held to the memory that they have."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "s.jsonl"
        self.source.touch()
        options = ["--master", "local[2]", "--depth", "1", "--batch-rows", "5000"]
        self.service = ServiceProcess(folder, *options, SEINE_DRIVER_MEMORY="600m")
        self.lines = 0

    def feed(self, count: int) -> None:
        with self.source.open("a") as file:
            for number in range(self.lines, self.lines + count):
                file.write(json.dumps({"a": number, "ts": number // 100}) + "\n")
        self.lines += count

    def hold(self, processes: list[Process]) -> list[int]:
        """Let processes have no byte more than they have; those that were reached."""
        held = []
        for pid in [one.pid for one in processes]:
            with suppress(ProcessLookupError, FileNotFoundError):
                size = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()
                resource.prlimit(pid, resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
                held.append(pid)
        return held

    def let_go(self, pids: list[int]) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def wait_for_all(self) -> None:
        """Until the good query has told everything, once each."""
        self.service.wait("the good query", lambda client: _query(client, "good")["outputs"] >= self.lines)
        read = self.service.ask(lambda client: b"".join(client.tail("good", "start", follow=False)))
        values = [json.loads(line)["row"]["a"] for line in read.splitlines()]
        assert sorted(values) == [*range(self.lines)]


def _query(client: Client, name: str) -> dict[str, Any]:
    return next(one for one in client.queries() if one["query"] == name)


@pytest.fixture
def starved(tmp_path: Path) -> Iterator[Starved]:
    starved = Starved(tmp_path)
    yield starved
    starved.service.kill()


def test_a_shortage_that_passes_loses_nothing(starved: Starved) -> None:
    """The driver, then the JVM, cannot have a byte more for some seconds."""
    service = starved.service
    service.change(STREAM)
    service.change(GOOD)
    starved.feed(300)
    starved.wait_for_all()
    for chosen in ("python", "java"):
        below = [one for one in service.below() if "java" in one.command]
        driver = Process(service.process.pid, 0, "python")
        held = starved.hold([driver] if chosen == "python" else below)
        assert held
        starved.feed(20_000)
        time.sleep(4)
        starved.let_go(held)
        starved.feed(300)
        starved.wait_for_all()
    assert all(status != 0 for _, status in service.ended)  # it may have ended, and said so
    assert not re.search(r"Traceback \(most recent call last\)", service.log.read_text())
