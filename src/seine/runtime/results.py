"""Results of one task: JSON Lines on their way to a file, counted by query, cut at limits."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from seine.network.nodes import Form
from seine.operators.delta import NEVER, data_names
from seine.runtime.records import json_lines, json_strings, text_bytes

_PIECE_ROWS = 1 << 16
# An Arrow array ends at 2**31 bytes of text, and escapes make text up to 6 times longer.
_PIECE_BYTES = 1 << 28


class Chosen(NamedTuple):
    """Computed rows with their lives, and for each the position of the query that it is for."""

    batch: pa.RecordBatch
    picks: np.ndarray


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

    def deliver(self, form: Form, queries: list[str], plus: Chosen, minus: Chosen | None = None) -> None:
        """The records of queries that follow from new rows and from rows that end early.

        Ends come after beginnings, or in event time if it is a changelog.
        """
        if form.changelog:
            self._deliver(form, queries, *_in_event_time(plus, minus, len(form.types)))
            return
        for op, chosen in (("+", plus), ("-", minus)):
            if chosen is not None and len(chosen.picks):
                self._deliver(form, queries, chosen, op)

    def _deliver(self, form: Form, queries: list[str], chosen: Chosen, ops: pa.Array | str) -> None:
        batch, picks = chosen
        hit, place, counts = np.unique(picks, return_inverse=True, return_counts=True)
        names = [queries[i] for i in hit.tolist()]
        if self.counts.total() + len(picks) > form.limit:  # else no single query can be over it
            room = np.array([self._room(name, form.limit) for name in names], np.int64)
            self.cut.update(names[i] for i in np.flatnonzero(counts > room).tolist())
            keep = _earlier(place, counts) < room[place]
            batch, place, counts = batch.filter(pa.array(keep)), place[keep], np.minimum(counts, room)
            ops = ops if isinstance(ops, str) else ops.filter(pa.array(keep))
        who: pa.Array | str = names[0]
        if len(names) > 1:
            who = json_strings(pa.array(names, pa.string())).take(pa.array(place))
        self._write(form, ops, batch, who)
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

    def _write(self, form: Form, ops: pa.Array | str, batch: pa.RecordBatch, queries: pa.Array | str) -> None:
        for start, length in _pieces(batch):
            piece = batch.slice(start, length)
            text = _text(form, _part(ops, start, length), piece, _part(queries, start, length))
            if self._file is None:
                os.makedirs(os.path.dirname(self.path), exist_ok=True)
                self._file = open(self.path, "xb")  # noqa: SIM115 - close() closes it
            self._file.write(text)


def _part(texts: pa.Array | str, start: int, length: int) -> pa.Array | str:
    return texts if isinstance(texts, str) else texts.slice(start, length)


def _in_event_time(plus: Chosen, minus: Chosen | None, width: int) -> tuple[Chosen, pa.Array]:
    """The changes of a changelog as they happen, with their ops; an old row ends before a new one begins."""
    names = data_names(width)
    times, picks, parts = plus.batch["_s"].to_numpy(), plus.picks, [plus.batch.select(names)]
    if minus is not None and len(minus.picks):
        times = np.concatenate([times, minus.batch["_d"].to_numpy()])
        picks = np.concatenate([picks, minus.picks])
        parts.append(minus.batch.select(names))
    begins = np.arange(len(times)) < plus.batch.num_rows
    # What is there before all time has to begin before it can end.
    order = np.lexsort((np.where(times == NEVER, ~begins, begins), times))
    data = pa.Table.from_batches(parts).combine_chunks().to_batches()
    columns = [data[0].column(name).take(pa.array(order)) for name in names] if data else []
    told = pa.RecordBatch.from_arrays([pa.array(times[order]), *columns], ["_s", *names])
    return Chosen(told, picks[order]), pa.array(np.where(begins[order], "+", "-"), pa.string())


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


def _text(form: Form, ops: pa.Array | str, batch: pa.RecordBatch, queries: pa.Array | str) -> memoryview:
    columns = [batch.column(name) for name in data_names(len(form.types))]
    ends = None if form.changelog else batch.column("_d" if ops == "-" else "_e")
    starts = batch.column("_s")
    return text_bytes(json_lines(queries, ops, starts, ends, form.names, form.types, columns, form.domain))
