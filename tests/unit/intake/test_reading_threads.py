"""A source that does not answer holds up nobody, but for a while those that it is joined with."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seine.algebra.definitions import Source, StreamDef
from seine.algebra.types import BIGINT, Field
from seine.intake import reading_threads
from seine.intake.fed_pipeline import FixedNetwork
from seine.intake.files import Files
from seine.intake.intake import Intake
from seine.intake.journal import Journal
from seine.storage.local import LocalStore

FIELDS = (Field("a", BIGINT), Field("ts", BIGINT))


class Sources:
    """Streams with a file each, of which some are on a disk that does not answer until it is `mended`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, names: str = "st") -> None:
        self.folder, self.names = folder, names
        self.hung: set[str] = set()
        self.mended = threading.Event()
        self.together: list[frozenset[str]] = []
        listing = Files.listing

        def list_or_hang(files: Files) -> list[str]:
            if Path(files.path).name in self.hung:
                assert self.mended.wait(60)
            return listing(files)

        monkeypatch.setattr(Files, "listing", list_or_hang)
        monkeypatch.setattr(reading_threads, "_PATIENCE_SECONDS", 0.05)
        for name in names:
            (folder / name).touch()
        self.open()

    def open(self) -> None:
        streams = [StreamDef(name, FIELDS, 1, Source(str(self.folder / name))) for name in self.names]
        journal = Journal(LocalStore(str(self.folder / "j")))
        network = FixedNetwork(components=self.together)
        self.intake = Intake(streams, journal, network, follow=True, refuse=False)

    def send(self, name: str, *values: int) -> None:
        with (self.folder / name).open("a") as file:
            file.writelines(f'{{"a": {value}, "ts": {value}}}\n' for value in values)

    def admit(self, expected: dict[str, list[int]]) -> None:
        """Until that has come in, and nothing else."""
        values: dict[str, list[int]] = {}
        deadline = time.monotonic() + 60
        while values != expected and time.monotonic() < deadline:
            entry = self.intake.next_entry()
            for name in entry.rows if entry is not None else ():
                batch = entry.batch(name) if entry is not None else None
                values.setdefault(name, []).extend(
                    batch.column("c0").to_pylist() if batch is not None else []
                )
        assert values == expected

    def admit_nothing(self) -> None:
        """For some rounds nothing comes in."""
        assert [self.intake.next_entry() for _ in range(5)] == [None] * 5


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sources]:
    sources = Sources(tmp_path, monkeypatch, "stuvwxyz")
    yield sources
    sources.mended.set()
    sources.intake.close()


def test_the_others_go_on_and_it_misses_nothing(sources: Sources, tmp_path: Path) -> None:
    sources.send("s", 1)
    sources.admit({"s": [1]})
    sources.hung = set("suvwxy")  # more of them than threads
    sources.send("s", 2)
    for value in range(3, 9):
        sources.send("t", value)
        sources.admit({"t": [value]})
    sources.mended.set()
    sources.send("z", 1)
    sources.admit({"s": [2], "z": [1]})
    sources.intake.close()
    sources.open()
    sources.admit_nothing()  # positions were kept: nothing comes twice


def test_entries_that_are_cut_meanwhile_keep_its_position(sources: Sources) -> None:
    sources.send("s", 1, 2)
    sources.admit({"s": [1, 2]})
    sources.hung = {"s"}
    sources.send("s", 3)
    sources.send("t", 1)
    sources.admit({"t": [1]})
    sources.mended.set()  # and the process is killed
    sources.hung = set()
    sources.open()
    sources.admit({"s": [3]})


def test_those_that_are_joined_with_it_wait_until_it_is_stuck(
    sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources.together.append(frozenset("st"))
    sources.send("s", 1)
    sources.send("t", 1)
    sources.admit({"s": [1], "t": [1]})
    sources.hung = {"s"}
    sources.send("t", 2)
    sources.send("u", 2)
    sources.admit({"u": [2]})
    sources.admit_nothing()
    assert sources.intake.stream_states()[0].condition.state == "running"
    monkeypatch.setattr(reading_threads, "STUCK_SECONDS", 0.0)
    sources.send("u", 3)
    sources.admit({"t": [2], "u": [3]})
    stuck = sources.intake.stream_states()[0]
    assert stuck.condition.state == "failed" and stuck.condition.reason.endswith("s' does not answer")


def test_one_that_hangs_can_be_dropped(sources: Sources) -> None:
    sources.hung = {"s"}
    sources.send("t", 1)
    sources.admit({"t": [1]})
    sources.intake.change([], ["s"])
    sources.send("t", 2)
    sources.admit({"t": [2]})
    assert "s" not in [one.stream for one in sources.intake.stream_states()]


def test_one_that_is_quick_again_is_waited_for(sources: Sources) -> None:
    sources.hung = {"s"}
    sources.send("t", 1)
    sources.admit({"t": [1]})
    feed = next(iter(sources.intake._feeds))
    assert sources.intake._feeds.threads.is_slow(feed)
    sources.hung = set()
    sources.mended.set()
    while sources.intake._feeds.threads.is_slow(feed):
        sources.intake.next_entry()
    sources.send("s", 5)
    sources.admit({"s": [5]})
