"""Streams that go on: what is written to them, and which of it is admitted."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from confluent_kafka import Producer

from tests.support.kafka_topic import create_topic, delete_records

KEYS = 150
VALUES = 100
_BROKER_SECONDS = 300.0
_BROKEN = ("no json\n", '{"id": "a"}\n', "[]\n", '{"id": 1, "ts": 1.5}\n')

Row = dict[str, Any]


class Feed(ABC):
    """A stream (id, k, v, ts) with a window, and columns that were added to it.

    Which rows are admitted follows from the order in which they were written: the number of a row in
    `admitted` is that of its arrival.
    """

    def __init__(self, name: str, window: int, lateness: int, rng: Random) -> None:
        self.name, self.window, self.lateness = name, window, lateness
        self.added: list[str] = []  # columns that ALTER STREAM has added
        self.admitted = 0
        self.refused = 0
        self.bytes_written = 0
        self.latest = -1  # the largest time that was admitted
        self._rng = rng
        self._fresh: list[Row] = []  # admitted rows that nobody has taken yet

    @property
    def script(self) -> str:
        """The statement that declares it."""
        lateness = f" LATENESS {self.lateness}" if self.lateness else ""
        columns = "id BIGINT, k BIGINT, v BIGINT, ts BIGINT"
        head = f"CREATE STREAM {self.name} ({columns}) TIMESTAMP BY ts WINDOW {self.window}{lateness}"
        return f"{head} FROM '{self.source}';"

    @property
    @abstractmethod
    def source(self) -> str:
        """What is named behind FROM."""

    @property
    def watermark(self) -> int:
        """No row that is admitted from now on is before this."""
        return self.latest - self.lateness

    @property
    def lines(self) -> int:
        return self.admitted + self.refused

    @abstractmethod
    def write(self, lines: Sequence[str]) -> None:
        """Append lines."""

    def tick(self, instant: int, numbers: Iterator[int], most_rows: int) -> dict[int, float]:
        """Write what comes at an instant; when each admitted id was written."""
        rows = [self._row(instant, next(numbers)) for _ in range(self._rng.randrange(most_rows))]
        lines = [self._line(row) for row in rows]
        now = time.monotonic()
        self.write(lines)
        self.bytes_written += sum(map(len, lines))
        return {row["id"]: now for row in rows if self._admit(row)}

    def take_admitted(self) -> pa.Table:
        """The admitted rows since the last call, with the numbers of their arrival."""
        rows, self._fresh = self._fresh, []
        start = self.admitted - len(rows)
        columns = ["id", "k", "v", "ts", *self.added]
        values = {name: pa.array([row.get(name) for row in rows], pa.int64()) for name in columns}
        return pa.table({"arrival": pa.array(range(start, self.admitted), pa.int64()), **values})

    def _row(self, instant: int, number: int) -> Row:
        late = self._rng.randrange(self.lateness + 2) if self.lateness else 0
        row = {"id": number, "k": self._rng.randrange(KEYS), "v": self._rng.randrange(VALUES)}
        row["ts"] = max(instant - late, 0)
        return row | {name: self._rng.randrange(VALUES) for name in self.added if self._rng.random() < 0.7}

    def _line(self, row: Row) -> str:
        if self._rng.random() < 0.003:
            row["ts"] = None  # as if it had never been
            return self._rng.choice(_BROKEN)
        return json.dumps(row) + "\n"

    def _admit(self, row: Row) -> bool:
        if row["ts"] is None or row["ts"] < self.latest - self.lateness:
            self.refused += 1
            return False
        self.latest = max(self.latest, row["ts"])
        self.admitted += 1
        self._fresh.append(row)
        return True


class FileFeed(Feed):
    """Lines of a file, which is put aside now and then and removed once it is read."""

    def __init__(self, folder: Path, name: str, window: int, lateness: int, rng: Random) -> None:
        super().__init__(name, window, lateness, rng)
        self.path = folder / f"{name}.jsonl"
        self.path.touch()
        self._aside: list[tuple[Path, int]] = []  # and the lines up to its end
        self._rotations = 0
        self._begun = 0  # lines of files that were put aside

    @property
    def source(self) -> str:
        return self.path.name

    def write(self, lines: Sequence[str]) -> None:
        with self.path.open("a") as file:
            file.write("".join(lines))

    def rotate(self, read: int) -> bool:
        """Put the file aside if its reader has begun it; remove those that are read."""
        while self._aside and self._aside[0][1] < read:
            self._aside.pop(0)[0].unlink()
        if read <= self._begun or self.lines == self._begun:
            return False
        self._rotations += 1
        aside = self.path.with_suffix(f".jsonl.{self._rotations}")
        self.path.rename(aside)
        self.path.touch()
        self._begun = self.lines
        self._aside.append((aside, self._begun))
        return True

    def remove(self) -> None:
        for path in (self.path, *(path for path, _ in self._aside)):
            path.unlink(missing_ok=True)


class TopicFeed(Feed):
    """Records of a topic with one partition, in the order of their times, whose old records are deleted."""

    def __init__(self, servers: str, name: str, window: int, rng: Random) -> None:
        super().__init__(name, window, 0, rng)
        self._servers = servers
        create_topic(servers, name)
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 5})

    @property
    def source(self) -> str:
        return f"kafka://{self._servers}/{self.name}"

    def write(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._producer.produce(self.name, line.rstrip("\n").encode(), partition=0)
        assert self._producer.flush(_BROKER_SECONDS) == 0, "the broker takes no records"

    def forget(self, read: int) -> None:
        """Delete the records that were read, as retention does."""
        delete_records(self._servers, self.name, 0, read)
