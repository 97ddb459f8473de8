"""Retractable rows: a log-structured set of rows, and beside it a set of tombstones by row identity.

A row lives in [_s, _e) and may be retracted: then its lifetime ends early, at `_d`. Runs are immutable, so
a retraction is kept as a row of a second set (the tombstone). It is dropped at the row's natural end, or by
a sweep that rewrites the runs without retracted rows once enough tombstones have gathered. Several rows may
share an identity; they all end at the same instant.

    runs        _k _s _e _i0 c0 ..      immutable, sorted by key (see `runs.py`)
    tombstones  hash(_i0 ..) _s _e _d _i0 ..

Law: a row is alive at t iff _s <= t < min(_e, the `_d` of its identity's tombstone, if it has one).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import EARLY, END, KEY, START, SortedRun, take_rows
from seine.operators.state.store import Store
from seine.rows.delta import FOREVER, NEVER, identity_names
from seine.rows.hashing import hash_columns

TOMBSTONES_BEFORE_SWEEP = 1024  # tombstones that may gather before runs are rewritten


class RetractableRows:
    """The rows of one input and their tombstones, kept in the head under names that begin with `name`."""

    def __init__(self, store: Store, name: str, identities: int, by: str = KEY) -> None:
        self.runs = Runs(store, name, by)
        self._ids = identity_names(identities)
        self._tombstones = Runs(store, f"{name}_tombstones")
        self._memory = store.head.setdefault(f"{name}_memory", {"bound": NEVER, "swept_at": 0})

    def end(self, minus: pa.RecordBatch | None) -> Iterator[SortedRun]:
        """Apply retractions; yields the stored rows that they end, each with its `_d`.

        An identity that is retracted already is skipped: its rows arrived together with their end.
        """
        if minus is None or not self._ids:
            return
        fresh = take_rows(minus, np.flatnonzero(self.early_ends(minus) == FOREVER))
        self.remember(minus)
        yield from self._stored(_distinct(fresh, [KEY, START, *self._ids]))

    def remember(self, minus: pa.RecordBatch) -> None:
        """Write tombstones without searching for the rows that they end."""
        identity = [minus[name] for name in self._ids]
        keys = pa.array(hash_columns(identity, minus.num_rows))
        arrays = [keys, minus[START], minus[END], minus[EARLY], *identity]
        ends = pa.RecordBatch.from_arrays(arrays, names=[KEY, START, END, EARLY, *self._ids])
        self._tombstones.add(SortedRun.of(ends, KEY))

    def early_ends(self, batch: pa.RecordBatch, rows: IntArray | None = None) -> IntArray:
        """The early end of each row by the tombstones so far; FOREVER if it has none."""
        columns = [_picked(batch[name].to_numpy(), rows) for name in self._ids]
        count = batch.num_rows if rows is None else len(rows)
        early = np.full(count, FOREVER)
        if not columns or not len(self._tombstones) or not count:
            return early
        keys = hash_columns([pa.array(column) for column in columns], count)
        for run in self._tombstones.overlapping():
            for probing, stored in run.equal_keys(keys):
                same = _same(columns, probing, run.batch, stored, self._ids)
                np.minimum.at(early, probing[same], run.batch[EARLY].to_numpy()[stored[same]])
        return early

    def add(self, rows: SortedRun) -> None:
        """Insert rows that are sorted already."""
        self.runs.add(rows)

    def settle(self, bound: int) -> None:
        """Purge rows whose lifetime is over at the bound, naturally or early: nothing can join them."""
        self._memory["bound"] = bound
        self._tombstones.settle(bound)
        grown = self._tombstones.rows - self._memory["swept_at"]
        if grown > max(TOMBSTONES_BEFORE_SWEEP, self.runs.rows // 4):
            self.runs.keep_where(lambda run: self.early_ends(run.batch) > bound)
            self._tombstones.keep_where(lambda run: run.batch[EARLY].to_numpy() > bound)
            self._memory["swept_at"] = self._tombstones.rows
        self.runs.settle(bound)

    def _stored(self, minus: pa.RecordBatch) -> Iterator[SortedRun]:
        """The stored live rows that retractions name, each with the `_d` of its retraction."""
        columns = [minus[name].to_numpy() for name in self._ids]
        for run in self.runs.overlapping(self._memory["bound"]):
            for probing, stored in run.same_start(minus):
                same = _same(columns, probing, run.batch, stored, self._ids)
                same &= run.ends[stored] > self._memory["bound"]
                if same.any():
                    ended = take_rows(run.plain(), stored[same])
                    early = pa.array(minus[EARLY].to_numpy()[probing[same]])
                    yield SortedRun(ended.append_column(EARLY, early))


def _picked(values: IntArray, rows: IntArray | None) -> IntArray:
    return values if rows is None else values[rows]


def _same(
    columns: Sequence[IntArray],
    probing: IntArray,
    batch: pa.RecordBatch,
    stored: IntArray,
    names: list[str],
) -> BoolArray:
    """Which pairs (probing row, stored row) agree in all named columns."""
    same = np.ones(len(probing), bool)
    for column, name in zip(columns, names, strict=True):
        same &= column[probing] == batch[name].to_numpy()[stored]
    return same


def _distinct(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    """One row for each distinct value of the named int64 columns."""
    columns = [batch[name].to_numpy() for name in names]
    order = np.lexsort(columns)
    differs = np.ones(len(order), bool)
    differs[1:] = np.logical_or.reduce([np.diff(column[order]) != 0 for column in columns])
    return take_rows(batch, order[differs])
