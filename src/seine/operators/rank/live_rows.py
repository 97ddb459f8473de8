"""The rows that are alive, by partition: they begin and end at instants that are complete.

    head["begins"]   rows that begin later             head["ends"]   when rows that are kept end, by identity
    head["live"]     the rows that are kept

A row that may end early is known by its identity; any other gets a number when it begins, so that its end,
which is known by then, finds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.state.event_queue import TIME, EventQueue, times_of
from seine.operators.state.identified_rows import take_identities
from seine.operators.state.keyed_table import HASH, KeyedTable
from seine.operators.state.store import Store
from seine.operators.state.waiting_rows import RowBuffer
from seine.rows.delta import FOREVER, Delta, concat_batches, identity_names
from seine.rows.grouping import group_rows, normalise
from seine.rows.hashing import hash_columns

BEGUN, ENDS, TAG = "_since", "_e", "c0"
_LIVE = "_n"


@dataclass(frozen=True)
class DueRows:
    """The rows that begin in a step, the ends that are reached in it, and the partitions that these touch."""

    begins: pa.RecordBatch
    ends: pa.RecordBatch
    bound: int

    @property
    def hashes(self) -> IntArray:
        """The hashes of the partitions to which something happens."""
        return np.unique(np.concatenate([self.begins[HASH].to_numpy(), self.ends[HASH].to_numpy()]))


class LiveRows:
    """The live rows of one node in one bucket, with columns of these types, and so many identities."""

    def __init__(self, types: Mapping[str, pa.DataType], identities: int) -> None:
        self._data = [*types]
        self._given = identities > 0
        self._identity = identity_names(identities or 1)
        numbers = [pa.field(name, pa.int64()) for name in (HASH, _LIVE, *self._identity, BEGUN, ENDS)]
        self._schema = pa.schema([*numbers, *(pa.field(name, type_) for name, type_ in types.items())])
        self._ended = pa.schema([pa.field(name, pa.int64()) for name in (TIME, HASH, *self._identity, TAG)])
        self.columns = [name for name in self._schema.names if name != _LIVE]

    def due(self, pieces: Sequence[Delta], bound: int, store: Store) -> DueRows | None:
        """Take rows in; what begins and ends before the bound."""
        arrived = [self._beginning(delta.plus) for delta in pieces if delta.plus.num_rows]
        minus = [delta.minus for delta in pieces if delta.minus is not None and delta.minus.num_rows]
        begins = RowBuffer(store, "begins", BEGUN).release(
            concat_batches(arrived) if arrived else None, bound
        )
        early = [self._ending(rows, "_d") for rows in minus]
        ends = EventQueue(store, "ends").due(early, bound)
        if begins is None and not ends:
            return None
        return DueRows(
            self._nothing().select(self.columns) if begins is None else self._numbered(begins, store),
            concat_batches(ends) if ends else pa.RecordBatch.from_pylist([], self._ended),
            bound,
        )

    def held(self, hashes: IntArray, store: Store) -> pa.RecordBatch:
        """The rows of partitions that are kept."""
        return self._table(store).scan(hashes, hashes).select(self.columns)

    def end_times(self, held: pa.RecordBatch, due: DueRows) -> IntArray:
        """When each row that is held, then each that begins, ends in this step; FOREVER if it does not."""
        rows = concat_batches([held, due.begins])
        times = np.full(rows.num_rows, FOREVER)
        if due.ends.num_rows:
            names = [*self._identity, TAG]
            both = [pa.concat_arrays([rows[name], due.ends[name]]) for name in names]
            groups = group_rows(hash_columns(both, len(both[0])), both)
            label = np.empty(len(both[0]), np.int64)
            label[groups.order] = groups.labels()
            first = np.full(len(groups.starts), FOREVER)
            np.minimum.at(first, label[rows.num_rows :], times_of(due.ends))
            times = first[label[: rows.num_rows]]
        natural = due.begins[ENDS].to_numpy()
        times[held.num_rows :] = np.minimum(
            times[held.num_rows :], np.where(natural < due.bound, natural, FOREVER)
        )
        return times

    def settle(self, held: pa.RecordBatch, due: DueRows, kept: BoolArray, store: Store) -> None:
        """Keep some of the rows that were held or have begun, and forget the others."""
        stays, begun = kept[: held.num_rows], due.begins.filter(pa.array(kept[held.num_rows :]))
        gone = held.filter(pa.array(~stays))
        changed = [(begun, 1), (gone, 0)]
        batches = [self._stored(rows, live) for rows, live in changed if rows.num_rows]
        if batches:
            self._table(store).write(pa.concat_batches(batches))
        later = begun.filter(pa.array(begun[ENDS].to_numpy() < FOREVER))
        if later.num_rows:
            EventQueue(store, "ends").due([self._ending(later, ENDS)], due.bound)

    def everything(self, store: Store) -> pa.RecordBatch:
        return self._table(store).everything().select(self.columns)

    def forget(self, rows: pa.RecordBatch, store: Store) -> None:
        if rows.num_rows:
            self._table(store).write(self._stored(rows, 0))

    def size(self, store: Store) -> int:
        """About how many rows are kept."""
        return sum(run["rows"] for run in store.head.get("live", ()))

    def _table(self, store: Store) -> KeyedTable:
        return KeyedTable(store, "live", self._schema, [*self._identity, TAG], live=_LIVE)

    def _nothing(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([], self._schema)

    def _beginning(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        identity = [(name, rows[name]) for name in self._identity] if self._given else []
        data = [(name, normalise(rows[name])) for name in self._data]
        named = [(HASH, rows[HASH]), *identity, (BEGUN, rows["_s"]), (ENDS, rows["_e"]), *data]
        return pa.RecordBatch.from_arrays([array for _, array in named], [name for name, _ in named])

    def _numbered(self, rows: pa.RecordBatch, store: Store) -> pa.RecordBatch:
        if not self._given:
            numbers = take_identities(store, rows.num_rows)
            rows = rows.append_column(self._identity[0], pa.array(numbers))
        return rows.select(self.columns)

    def _ending(self, rows: pa.RecordBatch, time: str) -> pa.RecordBatch:
        names = [HASH, *self._identity, TAG]
        return pa.RecordBatch.from_arrays([rows[time], *(rows[name] for name in names)], schema=self._ended)

    def _stored(self, rows: pa.RecordBatch, live: int) -> pa.RecordBatch:
        marked = rows.append_column(_LIVE, pa.array(np.full(rows.num_rows, live)))
        return pa.RecordBatch.from_arrays([marked[name] for name in self._schema.names], schema=self._schema)
