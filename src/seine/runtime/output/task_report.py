"""What a task reports to the sink: the results that it wrote, and what its operators hold."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Struct

from seine.operators.limited.memory_account import MemoryAccount


class QueryBytes(NamedTuple):
    """Consecutive bytes of a file that are records of one query, by its place among those counted."""

    query: int
    bytes: int


class WrittenResults(Struct, frozen=True):
    """A file of records below the results of its entry, and how many it has of each query.

    `importance` is the sum over the records of a query, where they have one; the queries in `cut` reached
    their limit in this task, and further records were left out. `ranges` say whose records the file has, from
    its beginning to its end.
    """

    file: str
    counts: dict[str, int]
    importance: dict[str, float]
    cut: tuple[str, ...]
    ranges: list[QueryBytes]


class StageReport(Struct, frozen=True):
    """What a stage holds in a bucket, by node: rows in all, rows of each port where that is known.

    `notices` are what its operators noticed; `memory` is what joins within a memory have come to so far.
    """

    state_rows: dict[int, int] = {}
    port_rows: dict[int, list[int]] = {}
    notices: list[str] = []
    memory: dict[int, MemoryAccount] = {}


class TaskReport(Struct, frozen=True):
    """One task of an entry: a stage in a bucket, or at stage 0 a slice of the input."""

    entry: int
    stage: int
    bucket: int
    results: WrittenResults | None = None
    state: StageReport = StageReport()

    def packed(self) -> bytes:
        """As MessagePack; `unpacked` is the inverse."""
        return msgspec.msgpack.encode(self)

    @staticmethod
    def unpacked(blob: bytes) -> TaskReport:
        return _DECODER.decode(blob)


_DECODER = msgspec.msgpack.Decoder(TaskReport)
