"""What flows between operators: rows that begin to live, and rows that end early.

A row lives in [_s, _e). Its natural end _e (FOREVER if open) comes from windows and is
known when the row is born; an early end _d comes later, from a negative tuple or
from a result that changed. Columns of a batch, in this order:

    _k   int64   hash of the routing key; only on the way into a stateful operator
    _s   int64   start of life: the latest start of the tuples combined
    _e   int64   natural end of life: the earliest end of the tuples combined
    _d   int64   early end, only in `minus`; _s < _d < _e
    _q   int64   arrival number of a tuple; only from a source that feeds who asks for it
    _i0, _i1, .. int64  identity of the parts that may end early; none for append-only rows
    c0, c1, ..   the data columns that somebody needs, named by position

A row of `minus` repeats the whole row that ends (same _s, _e, identity and columns), so an
operator can route and probe with it. Within a batch the order of rows means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

NUMBER = "_q"
FOREVER = 2**63 - 1  # an open end; also the watermark of a stream that has ended
NEVER = -(2**63)  # before all time; the watermark of a stream without a tuple yet


class Delta(NamedTuple):
    """New rows, and rows that end early; `minus` is None where nothing can."""

    plus: pa.RecordBatch
    minus: pa.RecordBatch | None = None

    @property
    def num_rows(self) -> int:
        return self.plus.num_rows + (self.minus.num_rows if self.minus is not None else 0)


Wanted = Callable[[pa.RecordBatch], np.ndarray | None]


class Parts(NamedTuple):
    """What groups tell to coarser ones: what their rows add up to at each instant, made if it is wanted.

    `make` is given what says, of a batch of groups' keys, which are wanted, None if all. Columns: the
    instant `_t`, by how many the live rows grew `_w`, parts of folds, and the keys c0, c1, ..
    """

    make: Callable[[Wanted], pa.RecordBatch]


class DerivedPunctuations(NamedTuple):
    """What a join promises of its rows, for those who listen at a node: see `ToldNode`."""

    node: int
    batch: pa.RecordBatch


def data_names(width: int) -> list[str]:
    return [f"c{i}" for i in range(width)]


def carried_names(batch: pa.RecordBatch) -> list[str]:
    """The columns that are no data and stay with a row: its life and identity."""
    return [name for name in batch.schema.names if name[0] == "_" and name != NUMBER]


def identity_names(count: int) -> list[str]:
    return [f"_i{i}" for i in range(count)]


def concat(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch of all rows; a column that some lack is NULL in their rows.

    >>> concat([pa.record_batch({"c0": [1]}), pa.record_batch({"c0": [2], "c5": [7]})]).to_pylist()
    [{'c0': 1, 'c5': None}, {'c0': 2, 'c5': 7}]
    """
    if len(batches) == 1:
        return batches[0]
    if all(batch.schema.names == batches[0].schema.names for batch in batches[1:]):
        return pa.concat_batches(batches)
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    whole = pa.concat_tables(tables, promote_options="default").combine_chunks()
    return whole.to_batches()[0] if whole.num_rows else batches[0]
