"""A run whose streams are read by tasks of a source that this process plays: Spark's part, without Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.frontends.script.parser import read_script
from seine.intake.arrived_records import (
    FILE,
    PARTITIONS,
    PLACE,
    TIME,
    VALUE,
    WALL,
    ArrivedRecords,
    only_topic,
)
from seine.run import Options, Run
from seine.run_local import LocalHost
from seine.runtime.flow.read_source import read_source

INSTANT = pa.timestamp("us", "UTC")
Task = tuple[str, pa.RecordBatch]  # a stream, and the rows of it that one task is given
NOON = 1_700_000_000_000_000  # microseconds: when micro-batches begin


def lines_of_files(lines: Sequence[bytes | None], wall: int = NOON) -> pa.RecordBatch:
    """Rows of a source of text files."""
    count = len(lines)
    return pa.RecordBatch.from_pydict(
        {
            VALUE: pa.array(lines, pa.binary()),
            FILE: pa.array(["part-0"] * count),
            WALL: pa.array([wall] * count, pa.int64()).cast(INSTANT),
        }
    )


def records_of_topic(
    records: Sequence[bytes | None], partition: int = 0, offset: int = 0, times: Sequence[int] | None = None
) -> pa.RecordBatch:
    """Rows of a source of topics."""
    count = len(records)
    return pa.RecordBatch.from_pydict(
        {
            VALUE: pa.array(records, pa.binary()),
            PLACE: pa.array([(offset + row) * PARTITIONS + partition for row in range(count)], pa.int64()),
            TIME: pa.array(times or [NOON] * count, pa.int64()).cast(INSTANT),
        }
    )


class PacedRig:
    """Opens a script; `run` gives it micro-batches of tasks, and lets it end."""

    def __init__(
        self, script: Path, folder: Path, monkeypatch: pytest.MonkeyPatch | None = None, **options: Any
    ) -> None:
        self.out, self.dead = folder / "out.jsonl", folder / "dead.jsonl"
        self.folder = folder
        self._script, self._options = script, options
        self._partitions: dict[str, set[str]] = {}  # by stream: those that have been named
        self.opened = self._open()
        self.host = LocalHost(self.opened.deployment)
        if monkeypatch is not None:  # nobody else works meanwhile
            monkeypatch.setattr("seine.runtime.driver._POLL_SECONDS", 0.0)

    def _open(self) -> Run:
        options = Options(str(self.out), str(self.dead), str(self.folder / "state"), **self._options)
        run = Run(read_script(str(self._script)), options)
        run.driver.prepare()
        return run

    def reopen(self) -> None:
        """Go on as a process does that comes after one that was killed."""
        self.opened.close()
        self.opened = self._open()

    @property
    def number(self) -> int:
        """The micro-batch that comes next."""
        return self.opened.driver.committed + 1

    def batch(self, tasks: Sequence[Task], *, commit: bool = True) -> None:
        """One micro-batch of Spark's, whose tasks are given rows; without `commit` the process dies then."""
        number, folder = self.number, self.opened.deployment.folder
        rows = [
            row
            for place, (stream, batch) in enumerate(tasks)
            for row in read_source(folder, number, stream, place, [batch], 0, self._named(tasks, stream))
        ]
        state = dict(self.host.heads), dict(self.host.blobs), dict(self.host._at_hand)
        reports = self.host.run(number, rows) if rows or self._is_offered() else []
        if commit:
            self.opened.driver.commit(reports, number)
        else:
            self.host.heads, self.host.blobs, self.host._at_hand = state

    def name(self, stream: str, *partitions: int) -> None:
        """The topic of a stream has these partitions, though nothing may be in them."""
        topic = self._topic(stream)
        self._partitions.setdefault(stream, set()).update(f"{topic}/{place}" for place in partitions)

    def _named(self, tasks: Sequence[Task], stream: str) -> tuple[str, ...]:
        """The partitions that a topic has by now, as its reader tells each of its tasks."""
        for name, batch in tasks:
            if PLACE in batch.schema.names:
                self._name(name, batch)
        return tuple(sorted(self._partitions.get(stream, ())))

    def _name(self, stream: str, batch: pa.RecordBatch) -> None:
        records = ArrivedRecords(batch, self._topic(stream))
        names = records.partitions(np.arange(1, batch.num_rows + 1)).to_pylist()
        self._partitions.setdefault(stream, set()).update(names)

    def _topic(self, stream: str) -> str | None:
        return next(only_topic(one) for one in self.opened.reading.streams if one.name == stream)

    def _is_offered(self) -> bool:
        return self.opened.deployment.journal.is_offered(self.number)

    def run(self, batches: Sequence[Sequence[Task]]) -> None:
        """Run micro-batches, and then to the end of the input."""
        waiting = list(batches)

        def work() -> None:
            if waiting:
                self.batch(waiting.pop(0))
            elif self._is_offered():
                self.batch([])

        self.opened.driver.drive(work, lambda: not waiting)
        self.opened.close()

    def records(self) -> list[dict[str, Any]]:
        return read_lines(self.out)

    def letters(self) -> list[dict[str, Any]]:
        return read_lines(self.dead)

    def set_wall(self, seconds: float) -> None:
        """Let it be this late by the wall clock of the driver."""
        intake = self.opened.driver._intake
        intake._surroundings = intake._surroundings._replace(wall=lambda: seconds)

    @property
    def watermarks(self) -> Mapping[str, int]:
        """As the next entry has them."""
        last = self.opened.deployment.journal.last()
        assert last is not None
        return last.clock.watermarks


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a file of JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
