"""The rows that are alive, by partition: they begin and end at instants that are complete.

    head["begins"]   rows that begin later             head["ends"]       early ends, by identity
    head["live"]     the rows that are kept            head["expiries"]   when rows that are kept expire

A row gets a number when it begins. An identity names the parts of a row that may be retracted, not the row:
of a join with a stream that only appends, all pairs of one tuple have the same, and end with it.

    a JOIN r        (a1, r7) [3, 9)   (a2, r7) [4, 8)        r7 ends at 6: both do; else one at 8, one at 9
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.state.event_queue import TIME, EventQueue, RowBuffer, times_of
from seine.operators.state.keyed_table import HASH, KeyedTable
from seine.operators.state.store import Store, take_identities
from seine.rows.delta import FOREVER, Delta, concat_batches, identity_names
from seine.rows.grouping import group_rows, normalise
from seine.rows.hashing import hash_columns

BEGUN, ENDS, TAG = "_since", "_e", "c0"
_LIVE = "_n"


@dataclass(frozen=True)
class DueRows:
    """The rows that begin in a step, the early ends that are reached in it, and the partitions it touches."""

    begins: pa.RecordBatch
    ends: pa.RecordBatch
    hashes: IntArray  # of the partitions to which something happens
    bound: int


class LiveRows:
    """The live rows of one node in one bucket, with columns of these types, and so many identities."""

    def __init__(self, types: Mapping[str, pa.DataType], identities: int) -> None:
        self._data = [*types]
        *self._identity, self._number = identity_names(identities + 1)
        self._key = [*self._identity, self._number, TAG]
        names = (HASH, _LIVE, *self._identity, self._number, BEGUN, ENDS)
        numbers = [pa.field(name, pa.int64()) for name in names]
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
        ends = EventQueue(store, "ends").due([self._ending(rows) for rows in minus], bound)
        expired = EventQueue(store, "expiries").due([], bound)
        touched = [batch[HASH].to_numpy() for batch in (begins, *ends, *expired) if batch is not None]
        if not touched:
            return None
        return DueRows(
            self._nothing().select(self.columns) if begins is None else self._numbered(begins, store),
            concat_batches(ends) if ends else pa.RecordBatch.from_pylist([], self._ended),
            np.unique(np.concatenate(touched)),
            bound,
        )

    def held(self, hashes: IntArray, store: Store) -> pa.RecordBatch:
        """The rows of partitions that are kept."""
        return self._table(store).scan(hashes, hashes).select(self.columns)

    def end_times(self, held: pa.RecordBatch, due: DueRows) -> IntArray:
        """When each row that is held, then each that begins, ends in this step; FOREVER if it does not."""
        rows = concat_batches([held, due.begins])
        natural = rows[ENDS].to_numpy()
        expiries: IntArray = np.where(natural < due.bound, natural, FOREVER)
        if not self._identity or not due.ends.num_rows:
            return expiries
        return np.minimum(expiries, self._early_times(rows, due.ends))

    def _early_times(self, rows: pa.RecordBatch, ends: pa.RecordBatch) -> IntArray:
        """When each row ends early, FOREVER if it does not."""
        both = [pa.concat_arrays([rows[name], ends[name]]) for name in (*self._identity, TAG)]
        groups = group_rows(hash_columns(both, len(both[0])), both)
        label = np.empty(len(both[0]), np.int64)
        label[groups.order] = groups.labels()
        first = np.full(len(groups.starts), FOREVER)
        np.minimum.at(first, label[rows.num_rows :], times_of(ends))
        times: IntArray = first[label[: rows.num_rows]]
        return times

    def settle(
        self,
        held: pa.RecordBatch,
        due: DueRows,
        kept: BoolArray,
        store: Store,
        longest: int | None = None,
    ) -> None:
        """Keep some of the rows that were held or have begun, and forget the others.

        `longest`: how long after its beginning a row is kept at most, whether it ends or not.
        """
        stays, begun = kept[: held.num_rows], due.begins.filter(pa.array(kept[held.num_rows :]))
        gone = held.filter(pa.array(~stays))
        changed = [(begun, 1), (gone, 0)]
        batches = [self._stored(rows, live) for rows, live in changed if rows.num_rows]
        if batches:
            self._table(store).write(pa.concat_batches(batches))
        queue, times = EventQueue(store, "expiries"), _expiries(begun, longest)
        later = times < FOREVER
        if later.any():
            columns = [pa.array(times[later]), begun[HASH].filter(pa.array(later))]
            queue.due([pa.RecordBatch.from_arrays(columns, [TIME, HASH])], due.bound)
        if longest is not None:  # every row that is kept is in the queue
            self._table(store).shrink(queue.size)

    def everything(self, store: Store) -> pa.RecordBatch:
        return self._table(store).everything().select(self.columns)

    def forget(self, rows: pa.RecordBatch, store: Store) -> None:
        if rows.num_rows:
            self._table(store).write(self._stored(rows, 0))

    def size(self, store: Store) -> int:
        """About how many rows are kept."""
        return sum(run["rows"] for run in store.head.get("live", ()))

    def _table(self, store: Store) -> KeyedTable:
        return KeyedTable(store, "live", self._schema, self._key, live=_LIVE)

    def _nothing(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([], self._schema)

    def _beginning(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        identity = [(name, rows[name]) for name in self._identity]
        data = [(name, normalise(rows[name])) for name in self._data]
        named = [(HASH, rows[HASH]), *identity, (BEGUN, rows["_s"]), (ENDS, rows["_e"]), *data]
        return pa.RecordBatch.from_arrays([array for _, array in named], [name for name, _ in named])

    def _numbered(self, rows: pa.RecordBatch, store: Store) -> pa.RecordBatch:
        numbers = pa.array(take_identities(store, rows.num_rows))
        return rows.append_column(self._number, numbers).select(self.columns)

    def _ending(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        names = ("_d", HASH, *self._identity, TAG)
        return pa.RecordBatch.from_arrays([rows[name] for name in names], schema=self._ended)

    def _stored(self, rows: pa.RecordBatch, live: int) -> pa.RecordBatch:
        marked = rows.append_column(_LIVE, pa.array(np.full(rows.num_rows, live)))
        return pa.RecordBatch.from_arrays([marked[name] for name in self._schema.names], schema=self._schema)


def _expiries(rows: pa.RecordBatch, longest: int | None) -> IntArray:
    """When rows expire, or are kept no longer; FOREVER if they stay."""
    ends: IntArray = rows[ENDS].to_numpy()
    if longest is None:
        return ends
    longest = min(longest, FOREVER)
    latest = FOREVER - longest  # of a row that begins later, the sum would be too large
    begun = rows[BEGUN].to_numpy()
    return np.minimum(ends, np.where(begun < latest, np.minimum(begun, latest) + longest, FOREVER))
