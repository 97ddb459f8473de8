"""The state of one operator in one bucket: a small head, and immutable runs of rows.

An operator changes `head` in place (JSON values only) and puts, gets and drops runs by
name. What it does becomes durable when its micro-batch commits, all or nothing; a run is
never changed once it is put. Names are unique for ever.
"""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa


class Store(Protocol):
    """What a host gives an operator; MemoryStore below, and the one on Spark's state store."""

    head: dict[str, Any]
    bucket: int  # the number of the bucket, below 2**16; makes identities unique across buckets

    def put(self, batch: pa.RecordBatch) -> str: ...

    def get(self, name: str) -> pa.RecordBatch: ...

    def drop(self, name: str) -> None: ...


class MemoryStore:
    """A store in memory, for tests and for driving operators without Spark."""

    def __init__(self, bucket: int = 0) -> None:
        self.bucket = bucket
        self.head: dict[str, Any] = {}
        self.runs: dict[str, pa.RecordBatch] = {}
        self._count = 0

    def put(self, batch: pa.RecordBatch) -> str:
        self._count += 1
        name = f"r{self._count}"
        self.runs[name] = batch
        return name

    def get(self, name: str) -> pa.RecordBatch:
        return self.runs[name]

    def drop(self, name: str) -> None:
        del self.runs[name]
