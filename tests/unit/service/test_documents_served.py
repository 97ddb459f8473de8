"""Subscriptions of documents in a service: they come and go, publish and read, and outlive a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seine.errors import SeineError
from seine.run_local import LocalHost
from seine.runtime.folder.failures import Failure
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from seine.service.tail import read_records
from tests.support.everywhere import EVERYWHERE

STREAM = "CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"
PAIRS = "s//a->x[./p->y] FOLLOWED BY{y = z, 9} s//a->w[./p->z]"


class Served:
    """A service without Spark, over one stream of documents."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "s.jsonl").touch()
        self.service = Service(
            ServiceFolder(str(folder / "state")), ServiceOptions(buckets=2, depth=3, reach=EVERYWHERE)
        )
        self.host = LocalHost(self.service.deployment)

    def register(self, text: str) -> None:
        self.service.registrar.register(text, file="x.sql", folder=str(self.folder))

    def feed(self, *documents: tuple[int, str]) -> None:
        with (self.folder / "s.jsonl").open("a") as file:
            for ts, value in documents:
                file.write(json.dumps({"doc": f"<a><p>{value}</p></a>", "ts": ts}) + "\n")
        while self.service.driver.run_some(self.host.run):
            pass

    def times(self, name: str) -> list[tuple[Any, Any]]:
        page = read_records(self.service.sink.index, name, 0, 1 << 30)
        rows = [json.loads(line)["row"] for line in page.lines.splitlines()]
        return sorted((row["left_ts"], row["right_ts"]) for row in rows)

    def restarted(self) -> Served:
        """The same service in a new process, with the state that the old one has left."""
        self.service.close()
        again = Served(self.folder)
        again.host.heads, again.host.blobs = self.host.heads, self.host.blobs
        again.host._at_hand = self.host._at_hand
        return again


@pytest.fixture
def served(tmp_path: Path) -> Served:
    served = Served(tmp_path)
    served.register(STREAM)
    return served


def test_a_subscription_counts_from_its_registration_on(served: Served) -> None:
    served.register(f"CREATE QUERY early AS XSCL $$ {PAIRS} $$;")
    served.feed((1, "v"))
    served.register(f"CREATE QUERY late AS XSCL $$ {PAIRS} $$;")
    served.feed((2, "v"), (3, "v"))
    assert served.times("early") == [(1, 2), (1, 3), (2, 3)]
    assert served.times("late") == [(2, 3)]


def test_documents_in_state_outlive_a_restart(served: Served) -> None:
    served.register(f"CREATE QUERY q AS XSCL $$ {PAIRS} $$;")
    served.feed((1, "v"), (2, "w"))
    again = served.restarted()
    again.feed((3, "v"), (4, "w"))
    assert again.times("q") == [(1, 3), (2, 4)]


def test_what_is_published_is_read_from_then_on(served: Served) -> None:
    served.register(f"CREATE QUERY publisher AS XSCL $$ {PAIRS} PUBLISH pairs $$;")
    served.feed((1, "v"), (2, "v"))
    served.register(
        "CREATE QUERY reader AS XSCL $$ pairs//a->x[./p->y] JOIN{y = z, 9} s//a->w[./p->z] $$;"
        "CREATE QUERY counter AS SELECT COUNT(*) AS n FROM pairs;"
    )
    served.feed((3, "v"))
    again = served.restarted()
    again.feed((4, "v"))
    assert set(again.times("reader")) == {(3, 3), (3, 4), (4, 3), (4, 4)}
    counts = read_records(again.service.sink.index, "counter", 0, 1 << 30).lines.splitlines()
    assert counts


def test_a_publisher_that_is_read_is_not_dropped(served: Served) -> None:
    served.register(f"CREATE QUERY publisher AS XSCL $$ {PAIRS} PUBLISH pairs $$;")
    served.register("CREATE QUERY reader AS SELECT ts FROM pairs;")
    for take_out in (served.service.registrar.drop, served.service.registrar.pause):
        with pytest.raises(SeineError, match="which query reader reads"):
            take_out("publisher")
    served.service.registrar.drop("reader")
    served.service.registrar.drop("publisher")
    served.feed((1, "v"))
    assert not served.service.registrar.network.nodes


def test_nobody_reads_what_nobody_publishes(served: Served) -> None:
    with pytest.raises(SeineError, match="no stream pairs"):
        served.register("CREATE QUERY reader AS XSCL $$ pairs//a->x JOIN{x = y, 1} s//a->y $$;")


def test_a_failed_publisher_falls_silent_and_publishes_again(served: Served) -> None:
    served.register(f"CREATE QUERY publisher AS XSCL $$ {PAIRS} PUBLISH pairs $$;")
    served.register("CREATE QUERY reader AS XSCL $$ pairs//a->x $$;")
    served.feed((1, "v"), (2, "v"))
    last = served.service.deployment.journal.last()
    assert last is not None
    served.service.registrar.quarantine({"publisher": Failure(last.number, "budget", "too much")})
    served.feed((3, "v"))
    before = len(served.times("reader"))
    served.service.registrar.resume("publisher")
    served.feed((4, "v"), (5, "v"))
    assert before == 2 and len(served.times("reader")) == 4
