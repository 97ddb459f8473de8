"""Rows in a store that may end early: sorted runs, and beside them the early ends by identity.

A run is never changed, so an early end is remembered on its own, until the row's natural end or
until enough rows are over that the runs are written again without them. Several rows may
share an identity; they all end at the same instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import EARLY, END, KEY, START, SortedRun, take_rows
from seine.operators.state.store import Store
from seine.rows.delta import FOREVER, NEVER, identity_names
from seine.rows.hashing import hash_columns

SWEEP = 1024  # early ends that may gather before their rows are looked for


class EndableRuns:
    """The rows of one input and their early ends; `head` keeps them under names that begin with `name`."""

    def __init__(self, store: Store, name: str, identities: int, by: str = KEY) -> None:
        self.runs = Runs(store, name, by)
        self._ids = identity_names(identities)
        self._ends = Runs(store, f"{name}_ends")
        self._memory = store.head.setdefault(f"{name}_memory", {"bound": NEVER, "swept": 0})

    def end(self, minus: pa.RecordBatch | None) -> Iterator[SortedRun]:
        """Remember early ends; give the stored rows that end now, with `_d`.

        An identity that has ended before is passed over: its rows came together with their end.
        """
        if minus is None or not self._ids:
            return
        fresh = take_rows(minus, np.flatnonzero(self.early_ends(minus) == FOREVER))
        self.remember(minus)
        yield from self._stored(_distinct(fresh, [KEY, START, *self._ids]))

    def remember(self, minus: pa.RecordBatch) -> None:
        """Note early ends, without a search for the rows that end."""
        identity = [minus[name] for name in self._ids]
        keys = pa.array(hash_columns(identity, minus.num_rows))
        arrays = [keys, minus[START], minus[END], minus[EARLY], *identity]
        ends = pa.RecordBatch.from_arrays(arrays, names=[KEY, START, END, EARLY, *self._ids])
        self._ends.add(SortedRun.of(ends, KEY))

    def early_ends(self, batch: pa.RecordBatch, rows: np.ndarray | None = None) -> np.ndarray:
        """When rows end early, as far as known; FOREVER if they don't."""
        columns = [_picked(batch[name].to_numpy(), rows) for name in self._ids]
        count = batch.num_rows if rows is None else len(rows)
        found = np.full(count, FOREVER)
        if not columns or not len(self._ends) or not count:
            return found
        keys = hash_columns([pa.array(column) for column in columns], count)
        for run in self._ends.overlapping():
            for asked, place in run.equal_keys(keys):
                same = _same(columns, asked, run.batch, place, self._ids)
                np.minimum.at(found, asked[same], run.batch[EARLY].to_numpy()[place[same]])
        return found

    def add(self, rows: SortedRun) -> None:
        self.runs.add(rows)

    def settle(self, bound: int) -> None:
        """Forget rows that no partner can meet: those over, naturally or early, at the bound."""
        self._memory["bound"] = bound
        self._ends.settle(bound)
        if self._ends.rows - self._memory["swept"] > max(SWEEP, self.runs.rows // 4):
            self.runs.keep_where(lambda run: self.early_ends(run.batch) > bound)
            self._ends.keep_where(lambda run: run.batch[EARLY].to_numpy() > bound)
            self._memory["swept"] = self._ends.rows
        self.runs.settle(bound)

    def _stored(self, minus: pa.RecordBatch) -> Iterator[SortedRun]:
        """The stored rows, still alive, that a minus row repeats, with its `_d`."""
        columns = [minus[name].to_numpy() for name in self._ids]
        for run in self.runs.overlapping(self._memory["bound"]):
            for asked, place in run.same_start(minus):
                same = _same(columns, asked, run.batch, place, self._ids)
                same &= run.ends[place] > self._memory["bound"]
                if same.any():
                    ended = take_rows(run.plain(), place[same])
                    early = pa.array(minus[EARLY].to_numpy()[asked[same]])
                    yield SortedRun(ended.append_column(EARLY, early))


def _picked(values: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
    return values if rows is None else values[rows]


def _same(
    columns: Sequence[np.ndarray],
    asked: np.ndarray,
    batch: pa.RecordBatch,
    place: np.ndarray,
    names: list[str],
) -> np.ndarray:
    same = np.ones(len(asked), bool)
    for column, name in zip(columns, names, strict=True):
        same &= column[asked] == batch[name].to_numpy()[place]
    return same


def _distinct(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    """One row for each value of some int64 columns."""
    columns = [batch[name].to_numpy() for name in names]
    order = np.lexsort(columns)
    differs = np.ones(len(order), bool)
    differs[1:] = np.logical_or.reduce([np.diff(column[order]) != 0 for column in columns])
    return take_rows(batch, order[differs])
