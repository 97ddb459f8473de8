"""The state backend of one operator in one bucket: a small mutable head, and immutable runs of rows.

    head   {"rows": [{"run": "r7", ...}], ...}       JSON, rewritten whole at each commit
              |
    runs      r7: Arrow batch   r9: Arrow batch      written once, read many times, dropped

An operator changes `head` in place (JSON values only) and puts, gets and drops runs by name.

Law: what a step does to its store becomes durable when its micro-batch commits, all or nothing. A run is
never changed once it is put, and its name is never used again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.rows.column_arrays import ColumnArray, as_arrow
from seine.rows.delta import FOREVER, data_names


class Store(Protocol):
    """The store as an operator sees it: `MemoryStore` below, and the one on Spark's state store."""

    head: dict[str, Any]
    bucket: int  # the number of the bucket, below 2**16; makes identities unique across buckets

    def put(self, batch: pa.RecordBatch) -> str:
        """Write a run; returns its name."""
        ...

    def get(self, name: str) -> pa.RecordBatch:
        """Read a run."""
        ...

    def drop(self, name: str) -> None:
        """Delete a run."""
        ...


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


BUCKETS = 2**16  # the most buckets of a node: an identity is sequence number * BUCKETS + bucket


def take_identities(store: Store, count: int) -> IntArray:
    """Fresh identities, which no other row of the node has or will ever have, in any bucket."""
    first = store.head.get("identities", 0)
    store.head["identities"] = first + count
    identities: IntArray = (first + np.arange(count, dtype=np.int64)) * BUCKETS + store.bucket
    return identities


def open_rows(
    starts: IntArray, identities: IntArray, columns: Sequence[ColumnArray], ends: IntArray | None = None
) -> pa.RecordBatch:
    """Rows with an open lifetime [start, FOREVER); with `ends`, retractions of such rows."""
    names = ["_s", "_e", "_i0", *data_names(len(columns))]
    arrays = [starts, np.full(len(starts), FOREVER), identities, *columns]
    if ends is not None:
        names.insert(2, "_d")
        arrays.insert(2, ends)
    return pa.RecordBatch.from_arrays([as_arrow(array) for array in arrays], names=names)
