"""What tests of sinks share: results of random micro-batches, and what a folder of a sink holds."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from seine.algebra.definitions import SinkDef
from seine.algebra.plan import Query
from seine.catalog.tables.stored import StoredSink
from seine.frontends.script.parser import parse_script
from seine.runtime.output.log_files import LogFiles
from seine.runtime.output.result_index import ResultIndex

QUERIES = ("q1", "q2", "q3")


class GrowingResults:
    """A file of results with its index, to which micro-batches are added."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "results.jsonl"
        self.path.touch()
        self._folder = str(folder / "index")
        self.index = ResultIndex(self._folder, LogFiles(str(self.path)), 0)
        self.count = 0

    def add(self, random: Random, most: int = 6) -> None:
        """Add a micro-batch of random records."""
        with self.path.open("ab") as file:
            for _ in range(random.randrange(most)):
                self.count += 1
                row = {"n": self.count, "text": "x" * random.randrange(40)}
                query = random.choice(QUERIES)
                record = {"query": query, "op": "+", "t_start": self.count, "t_end": None, "row": row}
                file.write(json.dumps(record).encode() + b"\n")
        self.index.settle(self.path.stat().st_size)

    def lines(self, queries: tuple[str, ...], start: int = 0) -> list[bytes]:
        """What a sink of these queries that begins at a position has to deliver, by reading everything."""
        lines = self.path.read_bytes()[start:].splitlines(keepends=True)
        return [line for line in lines if json.loads(line)["query"] in queries]


class GrowingChangelog(GrowingResults):
    """Results of one query that identifies rows by `n`: in a micro-batch rows begin before others end."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.rows: dict[int, str] = {}
        self.ends: list[int] = []

    def add(self, random: Random, most: int = 6) -> None:
        """Add a micro-batch in which some rows come, change and go."""
        changed = random.sample(range(8), random.randrange(most))
        gone = [("-", n, self.rows.pop(n)) for n in changed if n in self.rows]
        self.rows |= {n: f"{self.count}-{n}" for n in changed if random.random() < 0.8}
        came = [("+", n, self.rows[n]) for n in changed if n in self.rows]
        with self.path.open("ab") as file:
            for op, n, text in [*came, *gone]:
                self.count += 1
                record = {"query": "q1", "op": op, "t_start": self.count, "t_end": None}
                file.write(json.dumps({**record, "row": {"n": n, "text": text}}).encode() + b"\n")
        self.ends.append(self.path.stat().st_size)
        self.index.settle(self.ends[-1])


def query_definitions() -> dict[str, Query]:
    """The queries whose records these could be."""
    text = "CREATE STREAM s (n BIGINT, text STRING, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"
    text += "".join(f"CREATE QUERY {name} AS SELECT n, text FROM s;" for name in QUERIES)
    return parse_script(text, file="x.sql", folder="/").declarations.queries


def stored_sink(target: Path | str, start: int = 0, **fields: Any) -> StoredSink:
    """A sink of two queries; those of other options are others."""
    sink = SinkDef("s", ("q1", "q2"), str(target), **fields)
    return StoredSink(sink, hashlib.sha256(repr(sink).encode()).hexdigest()[:32], start)


def folder_lines(folder: Path) -> list[bytes]:
    """The records of a folder of JSON, in the order of the names of its files."""
    files = sorted(folder.glob("part-*.jsonl"))
    return [line for file in files for line in file.read_bytes().splitlines(keepends=True)]


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is so, which other threads bring about."""
    deadline = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)
