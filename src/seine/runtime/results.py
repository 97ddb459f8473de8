"""Results of one task: JSON Lines on their way to a file, counted by query, cut at limits."""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from seine.network.nodes import OutputNode
from seine.operators.delta import Delta, data_names
from seine.runtime.records import json_lines, text_bytes


class Results:
    """Collects the records of one task.

    `path` is a file name that no other attempt uses; it is created with the first
    record, or text stays in memory where there is no path. `delivered` says how many
    records each query has had before this micro-batch.
    """

    def __init__(self, path: str | None = None, delivered: dict[str, int] | None = None) -> None:
        self.path = path
        self.delivered = delivered or {}
        self.counts: Counter[str] = Counter()
        self.cut: set[str] = set()
        self.bytes = 0
        self._file: Any = None

    def deliver(self, node: OutputNode, delta: Delta) -> None:
        """All records of one query that follow from a delta; ends come after beginnings."""
        for op, batch in (("+", delta.plus), ("-", delta.minus)):
            if batch is not None and batch.num_rows:
                room = self.room(node.query, node.limit)
                if batch.num_rows > room:
                    self.cut.add(node.query)
                    batch = batch.slice(0, room)
                self._write(node, op, batch, node.query)
                self.counts[node.query] += batch.num_rows

    def deliver_many(self, node: OutputNode, batch: pa.RecordBatch, queries: list[str], picks: np.ndarray) -> None:
        """New rows for many queries with the same output form: row i is for queries[picks[i]]."""
        counts = np.bincount(picks, minlength=len(queries))
        hit = np.flatnonzero(counts)
        over = [i for i in hit.tolist() if counts[i] > self.room(queries[i], node.limit)]
        if over:
            batch, picks = self._trim(node, batch, queries, picks, over)
            counts = np.bincount(picks, minlength=len(queries))
        names = pa.array([json.dumps(queries[i], ensure_ascii=False) for i in hit.tolist()], pa.string())
        place = np.zeros(len(queries), np.int64)
        place[hit] = np.arange(len(hit))
        self._write(node, "+", batch, names.take(pa.array(place[picks])))
        for i in hit.tolist():
            self.counts[queries[i]] += int(counts[i])

    def room(self, query: str, limit: int) -> int:
        """How many more records a query may deliver."""
        return max(0, limit - self.delivered.get(query, 0) - self.counts[query])

    def _trim(
        self, node: OutputNode, batch: pa.RecordBatch, queries: list[str], picks: np.ndarray, over: list[int]
    ) -> tuple[pa.RecordBatch, np.ndarray]:
        keep = np.ones(len(picks), bool)
        for i in over:
            self.cut.add(queries[i])
            keep[np.flatnonzero(picks == i)[self.room(queries[i], node.limit) :]] = False
        return batch.filter(pa.array(keep)), picks[keep]

    def _write(self, node: OutputNode, op: str, batch: pa.RecordBatch, queries: pa.Array | str) -> None:
        if not batch.num_rows:
            return
        starts, ends = _times(node, op, batch)
        columns = [batch.column(name) for name in data_names(len(node.types))]
        lines = json_lines(queries, op, starts, ends, node.names, node.types, columns, node.domain)
        text = text_bytes(lines)
        if self._file is None:
            self._file = self._open()
        self._file.write(text)
        self.bytes += len(text)

    def _open(self) -> Any:
        if self.path is None:
            return io.BytesIO()
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        return open(self.path, "xb")

    def text(self) -> bytes:
        """What was written, of results kept in memory."""
        return self._file.getvalue() if self._file else b""

    def close(self) -> dict[str, Any] | None:
        """Finish the file; what the sink must know of it, or None if there was no record."""
        if self._file is None:
            return None
        if self.path is not None:
            self._file.close()
        return {"path": self.path, "bytes": self.bytes, "counts": dict(self.counts), "cut": sorted(self.cut)}


def _times(node: OutputNode, op: str, batch: pa.RecordBatch) -> tuple[pa.Array, pa.Array | None]:
    if node.changelog:
        return batch.column("_s" if op == "+" else "_d"), None
    return batch.column("_s"), batch.column("_e" if op == "+" else "_d")
