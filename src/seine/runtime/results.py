"""Results of one task: JSON Lines on their way to a file, counted by query, cut at limits."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from seine.network.nodes import OutputNode
from seine.operators.delta import Delta, data_names
from seine.runtime.records import json_lines, json_strings, text_bytes

_PIECE_ROWS = 1 << 16
_PIECE_BYTES = (
    1 << 28
)  # an Arrow array ends at 2**31 bytes of text, and escapes make text up to 6 times longer


class Results:
    """Collects the records of one task.

    `path` is a file name that no other attempt uses; the file is created with the first record. A
    task delivers no more than a query's limit; the sink, which knows what came before, cuts the rest.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.counts: Counter[str] = Counter()
        self.cut: set[str] = set()
        self._file: BinaryIO | None = None

    def deliver(self, node: OutputNode, delta: Delta) -> None:
        """All records of one query that follow from a delta; ends come after beginnings."""
        for op, batch in (("+", delta.plus), ("-", delta.minus)):
            if batch is not None and batch.num_rows:
                room = self._room(node.query, node.limit)
                if batch.num_rows > room:
                    self.cut.add(node.query)
                    batch = batch.slice(0, room)
                self._write(node, op, batch, node.query)
                self.counts[node.query] += batch.num_rows

    def deliver_many(
        self, node: OutputNode, batch: pa.RecordBatch, queries: list[str], picks: np.ndarray
    ) -> None:
        """New rows for many queries with the same output form: row i is for queries[picks[i]]."""
        hit, place, counts = np.unique(picks, return_inverse=True, return_counts=True)
        names = [queries[i] for i in hit.tolist()]
        room = np.array([self._room(name, node.limit) for name in names], np.int64)
        if (counts > room).any():
            self.cut.update(names[i] for i in np.flatnonzero(counts > room).tolist())
            keep = _earlier(place, counts) < room[place]
            batch, place, counts = batch.filter(pa.array(keep)), place[keep], np.minimum(counts, room)
        self._write(node, "+", batch, json_strings(pa.array(names, pa.string())).take(pa.array(place)))
        self.counts.update(dict(zip(names, counts.tolist(), strict=True)))

    def close(self) -> dict[str, Any] | None:
        """Finish the file; what the sink must know of it, or None if there was no record."""
        if self._file is None:
            return None
        self._file.close()
        return {"path": self.path, "counts": dict(self.counts), "cut": sorted(self.cut)}

    def _room(self, query: str, limit: int) -> int:
        """How many more records a query may deliver here."""
        return max(0, limit - self.counts[query])

    def _write(self, node: OutputNode, op: str, batch: pa.RecordBatch, queries: pa.Array | str) -> None:
        for start, length in _pieces(batch):
            names = queries if isinstance(queries, str) else queries.slice(start, length)
            text = _text(node, op, batch.slice(start, length), names)
            if self._file is None:
                os.makedirs(os.path.dirname(self.path), exist_ok=True)
                self._file = open(self.path, "xb")  # noqa: SIM115 - close() closes it
            self._file.write(text)


def _earlier(place: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """For each position, how many before it have the same value; `counts` says how often each occurs."""
    order = np.argsort(place, kind="stable")
    earlier = np.empty(len(place), np.int64)
    earlier[order] = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
    return earlier


def _pieces(batch: pa.RecordBatch) -> Iterator[tuple[int, int]]:
    """Ranges of rows whose text is surely short enough for one Arrow array."""
    fitting = _PIECE_BYTES * batch.num_rows // max(batch.nbytes, 1)
    length = max(1, min(_PIECE_ROWS, fitting))
    for start in range(0, batch.num_rows, length):
        yield start, min(length, batch.num_rows - start)


def _text(node: OutputNode, op: str, batch: pa.RecordBatch, queries: pa.Array | str) -> memoryview:
    starts, ends = _times(node, op, batch)
    columns = [batch.column(name) for name in data_names(len(node.types))]
    return text_bytes(json_lines(queries, op, starts, ends, node.names, node.types, columns, node.domain))


def _times(node: OutputNode, op: str, batch: pa.RecordBatch) -> tuple[pa.Array, pa.Array | None]:
    if node.changelog:
        return batch.column("_s" if op == "+" else "_d"), None
    return batch.column("_s"), batch.column("_e" if op == "+" else "_d")
