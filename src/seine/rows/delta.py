"""Deltas, the change batches that flow between operators: insertions and retractions.

A row has a lifetime [_s, _e). Its natural end _e (FOREVER if open) comes from windows and is known
when the row is inserted; a retraction ends it early, at _d, because of a negative tuple or because
a result changed. Columns of a batch, in this order:

    _k   int64   hash of the routing key; only on the way into a stateful operator
    _s   int64   start of the lifetime: the latest start of the tuples combined
    _e   int64   natural end of the lifetime: the earliest end of the tuples combined
    _d   int64   early end, only in `minus`; _s < _d < _e
    _q   int64   arrival number of a tuple; only from sources whose consumers need it
    _i0, _i1, .. int64  identity of the parts that may be retracted; none for append-only rows
    c0, c1, ..   the data columns that a consumer reads, named by position

A row of `minus` repeats the whole row that ends (same _s, _e, identity and columns), so that an
operator can route and probe with it. Within a batch the order of rows means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from seine.algebra.arrays import AnyArray

ARRIVAL_NUMBER = "_q"  # the column of arrival numbers
FOREVER = 2**63 - 1  # an open end; also the watermark of a stream that has ended
NEVER = -(2**63)  # before all time; the watermark of a stream without a tuple yet


MIN_ROWS_OF_PIECE = 65_536  # a batch of as many rows is passed on as it is


class Delta(NamedTuple):
    """A change batch: insertions (`plus`) and retractions (`minus`, None where there can be none)."""

    plus: pa.RecordBatch
    minus: pa.RecordBatch | None = None

    @property
    def num_rows(self) -> int:
        """The number of insertions and retractions."""
        size: int = self.plus.num_rows
        return size if self.minus is None else size + int(self.minus.num_rows)

    @property
    def nbytes(self) -> int:
        """The bytes of both batches."""
        size: int = self.plus.nbytes
        return size if self.minus is None else size + int(self.minus.nbytes)


GroupFilter = Callable[
    [pa.RecordBatch], AnyArray | None
]  # which of a batch of group keys are wanted; None: all


class PartialAggregates(NamedTuple):
    """Partial aggregates of groups for coarser groups (a roll-up), computed lazily.

    `make` is called with a filter of group keys, and computes the partial aggregates of the wanted groups at
    each instant. Columns: the instant `_t`, the change `_w` of the number of live rows, parts of the
    aggregates, and the keys c0, c1, ..
    """

    make: Callable[[GroupFilter], pa.RecordBatch]


class DerivedPunctuations(NamedTuple):
    """Punctuations that a join derives for its results, for the consumers of a `DerivedPunctuationsNode`."""

    node: int
    batch: pa.RecordBatch


def data_names(width: int) -> list[str]:
    """The names of the first data columns: c0, c1, .."""
    return [f"c{i}" for i in range(width)]


def carried_names(batch: pa.RecordBatch) -> list[str]:
    """The metadata columns that stay with a row: its lifetime and identity, not its arrival number."""
    return [name for name in batch.schema.names if name[0] == "_" and name != ARRIVAL_NUMBER]


def identity_names(count: int) -> list[str]:
    """The names of identity columns: _i0, _i1, .."""
    return [f"_i{i}" for i in range(count)]


def concat_batches(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The concatenation of batches; a column that a batch lacks is NULL in its rows.

    >>> concat_batches([pa.record_batch({"c0": [1]}), pa.record_batch({"c0": [2], "c5": [7]})]).to_pylist()
    [{'c0': 1, 'c5': None}, {'c0': 2, 'c5': 7}]
    """
    if len(batches) == 1:
        return batches[0]
    if all(batch.schema.names == batches[0].schema.names for batch in batches[1:]):
        return pa.concat_batches(batches)
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    whole = pa.concat_tables(tables, promote_options="default").combine_chunks()
    return whole.to_batches()[0] if whole.num_rows else batches[0]


def coalesce(deltas: Iterable[Delta], min_rows: int = MIN_ROWS_OF_PIECE) -> Iterator[Delta]:
    """Merge batches into ones of at least `min_rows` rows, but for the last; empty ones are left out.

    >>> one = Delta(pa.record_batch({"c0": [1]}))
    >>> [delta.num_rows for delta in coalesce([one] * 5, min_rows=2)]
    [2, 2, 1]
    """
    waiting: list[Delta] = []
    for delta in deltas:
        if delta.num_rows >= min_rows:
            yield delta
        elif delta.num_rows:
            waiting.append(delta)
            if sum(d.num_rows for d in waiting) >= min_rows:
                yield _concat_deltas(waiting)
                waiting = []
    if waiting:
        yield _concat_deltas(waiting)


def _concat_deltas(deltas: list[Delta]) -> Delta:
    minus = [d.minus for d in deltas if d.minus is not None]
    return Delta(pa.concat_batches([d.plus for d in deltas]), pa.concat_batches(minus) if minus else None)
