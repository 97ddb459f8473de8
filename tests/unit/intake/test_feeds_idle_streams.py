"""A silent stream holds others back no longer than it was declared with; clocks never fall."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from seine.algebra.definitions import Source, StreamDef
from seine.algebra.types import BIGINT, Field
from seine.intake.fed_pipeline import FixedNetwork
from seine.intake.intake import Intake
from seine.intake.journal import Entry, Journal
from seine.rows.delta import NEVER
from seine.storage.local import LocalStore

FIELDS = (Field("ts", BIGINT),)
IDLE = 30  # seconds


class Streams:
    """Streams s, t and u, of which s and t are joined, followed by a clock moved by hand; s may be idle."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now = folder, 1000.0
        self.streams = []
        for name in "stu":
            (folder / name).touch()
            options = (("idle", str(IDLE * 1_000_000)),) if name == "s" else ()
            source = Source(str(folder / name), options=options)
            self.streams.append(StreamDef(name, FIELDS, 0, source, lateness=2))
        self.open()

    def open(self) -> None:
        self.intake = Intake(
            self.streams,
            Journal(LocalStore(str(self.folder / "j"))),
            FixedNetwork(components=[frozenset("st")]),
            follow=True,
            wall=lambda: self.now,
            refuse=False,
        )

    def send(self, name: str, *times: int) -> None:
        with (self.folder / name).open("a") as file:
            file.writelines(f'{{"ts": {time}}}\n' for time in times)

    def step(self, seconds: float = 0.0) -> Entry | None:
        self.now += seconds
        last = None
        while (entry := self.intake.next_entry()) is not None:
            last = entry
        return last

    def watermarks(self) -> list[int]:
        last = self.intake.journal.last()
        assert last is not None
        return [last.clock.watermarks[name] for name in "stu"]

    def state(self) -> tuple[str, float, tuple[str, ...]]:
        status = self.intake.stream_states()[0]
        return status.condition.state, status.condition.since, status.holds_back


@pytest.fixture
def streams(tmp_path: Path) -> Streams:
    return Streams(tmp_path)


def test_a_silent_stream_is_left_out_and_comes_back(streams: Streams) -> None:
    streams.send("s", 10)
    streams.send("t", 10, 50)
    streams.send("u", 7)
    streams.step()
    assert streams.watermarks() == [8, 48, 5] and streams.state() == ("running", 1000.0, ("t",))
    assert streams.step(IDLE - 1) is None and streams.watermarks() == [8, 48, 5]
    entry = streams.step(1)
    assert entry is not None and not entry.rows and entry.intake.wall == 1_030_000_000
    assert streams.watermarks() == [48, 48, 5] and streams.state() == ("idle", 1030.0, ())
    assert streams.step(1000) is None, "no entry in an idle loop"
    streams.send("t", 60)
    streams.step()
    assert streams.watermarks() == [58, 58, 5], "it goes on with the others"
    streams.send("s", 57, 58, 59, 60)
    entry = streams.step()
    assert entry is not None and entry.rows == {"s": 3} and entry.dead == 1
    assert "while this one was idle" in entry.dead_letters()[0]["reason"]
    assert streams.watermarks() == [58, 58, 5] and streams.state()[0] == "running"
    streams.send("t", 90)
    streams.step()
    assert streams.watermarks() == [58, 88, 5], "it holds back again"
    assert streams.intake.stream_states()[0].late == 1


def test_the_floor_outlives_the_process(streams: Streams) -> None:
    streams.send("t", 50)
    streams.step()
    streams.step(IDLE)
    assert streams.watermarks() == [48, 48, NEVER]
    streams.open()
    streams.send("s", 47, 48)
    entry = streams.step()
    assert entry is not None and entry.rows == {"s": 1} and entry.dead == 1


def test_a_restart_does_not_begin_to_count_anew(streams: Streams) -> None:
    streams.send("s", 1)
    streams.send("t", 50)
    streams.step()
    streams.now += 2 * IDLE
    streams.open()
    assert streams.step() is not None and streams.watermarks()[0] == 48


def test_where_all_are_idle_none_holds_back(streams: Streams, tmp_path: Path) -> None:
    source = Source(str(tmp_path / "t"), options=streams.streams[0].source.options)  # type: ignore[union-attr]
    streams.streams[1] = StreamDef("t", FIELDS, 0, source, lateness=2)
    streams.open()
    streams.send("s", 10)
    streams.send("t", 50)
    streams.step()
    streams.step(IDLE)
    assert streams.watermarks() == [48, 48, NEVER]


def test_a_stream_that_failed_is_not_idle(streams: Streams, tmp_path: Path) -> None:
    streams.send("s", 10)
    streams.send("t", 50)
    streams.step()
    (tmp_path / "s").unlink()
    assert streams.step(2 * IDLE) is None
    assert streams.watermarks() == [8, 48, NEVER] and streams.state()[0] == "failed"


def test_who_holds_others_back_for_long_is_in_the_log_once(
    streams: Streams, caplog: pytest.LogCaptureFixture
) -> None:
    streams.send("s", 50)
    streams.send("t", 10)
    streams.step()
    streams.step(59)
    streams.send("s", 70)
    streams.step(0.5)
    assert not [record for record in caplog.records if "holds" in record.message]
    for _ in range(3):
        streams.send("s", 90)
        streams.step(60)
    held = [record for record in caplog.records if "holds" in record.message]
    assert [(one.stream, one.streams) for one in held] == [("t", "s")]  # type: ignore[attr-defined]


def test_days_of_silence_leave_nothing_behind(streams: Streams, caplog: pytest.LogCaptureFixture) -> None:
    """A week, a look at the files every minute: no entry, no file, no byte, no line of the log."""
    caplog.set_level(logging.DEBUG, "seine")
    for name in "stu":
        streams.send(name, 10, 20)
    streams.step()
    streams.step(IDLE)  # s is idle from here on
    streams.step(120)
    before, logged = _content(streams.folder), len(caplog.records)
    for _ in range(7 * 24 * 60):
        assert streams.step(60) is None
    assert _content(streams.folder) == before
    assert len(caplog.records) == logged
    streams.send("t", 30)
    assert streams.step() is not None, "it is alive"


def _content(folder: Path) -> dict[str, int]:
    """The size of every file."""
    return {str(path): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
