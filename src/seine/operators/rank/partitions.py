"""What ranks and frames share: the live rows of partitions and what was shown of them, step by step.

    rows ──> begins, ends ──(progress)──> partitions to which something happens ──> what changes is emitted

What an operator makes of these partitions is its own; when rows are due, what is counted and which partitions
are forgotten is the same.

The rows that are shown, by partition, each with the identity and the number that it was emitted with.

Rows that nothing tells apart, with equal numbers, end in the order in which they began.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, IntArray
from seine.operators.group.group_release import Releasing
from seine.operators.rank.live_rows import BEGUN, DueRows, LiveRows
from seine.operators.rank.shown_changes import NumberedEntries, RowOrder, RowOrdering
from seine.operators.state.keyed_table import HASH, KeyedTable
from seine.operators.state.store import Store, open_rows, take_identities
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta, data_names

if TYPE_CHECKING:
    from seine.operators.rank.over import OverNode
    from seine.operators.rank.rank import RankNode


Finished = Callable[[pa.RecordBatch], AnyArray]  # the places of the keys that are final


class KeptRows(Protocol):
    """What is kept of partitions, with the columns of their keys."""

    def everything(self, store: Store) -> pa.RecordBatch: ...

    def forget(self, rows: pa.RecordBatch, store: Store) -> None: ...

    def size(self, store: Store) -> int:
        """About how many rows there are."""
        ...


class PartitionOperator(ABC):
    """The live rows of the partitions of one node in one bucket, and the rows that are shown of them.

    A row that is shown has the `extra` columns, too, and with `numbered` its number.
    """

    def __init__(
        self, node: RankNode | OverNode, buckets: int, extra: Mapping[str, pa.DataType], numbered: bool
    ) -> None:
        port = node.ports[0]
        self._streams = node.streams
        self._data = data_names(len(port.types))
        types = {name: type_.arrow() for name, type_ in zip(self._data, port.types, strict=True)}
        self._partition = tuple(f"c{index}" for part in port.key for index in part.columns)
        time = BEGUN if node.timed else None
        self._ordering = RowOrdering(self._partition, node.order, time, tuple(self._data))
        self._live = LiveRows(types, port.identities)
        self._shown = ShownRows({**types, **extra}, numbered)
        self._kept: list[KeptRows] = [self._live, self._shown]
        self._compared = [HASH, BEGUN, *self._data]
        releases = node.releases
        self._releasing = Releasing(port, node.ports[1:], releases, buckets) if releases else None

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        progress = clock.progress(self._streams)
        arrived = sum(delta.plus.num_rows for delta in inputs[0])
        due = self._live.due(inputs[0], progress, store)
        if due is not None:
            yield from self._answer(due, store)
        if self._releasing:
            self._releasing.step(inputs[1:], arrived, clock, self._streams, store, self)

    @abstractmethod
    def _answer(self, due: DueRows, store: Store) -> Iterator[Delta]:
        """What changes by rows that begin and end."""

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return sum(rows.size(store) for rows in self._kept)

    def punctuation_rows(self, store: Store) -> int:
        return self._releasing.punctuation_rows(store) if self._releasing else 0

    def size(self, store: Store) -> int:
        """About how many rows there are."""
        return self.group_rows(store)

    def release(self, finished: Finished, store: Store) -> int:
        """Forget the rows of partitions that nothing will change; how many rows stay."""
        stay = 0
        for rows in self._kept:
            held = rows.everything(store)
            keys = [held[name] for name in self._partition]
            places = finished(pa.RecordBatch.from_arrays(keys, [f"k{i}" for i in range(len(keys))]))
            rows.forget(held.take(pa.array(places)), store)
            stay += held.num_rows - len(places)
        return stay

    def _ordered(self, parts: list[pa.RecordBatch]) -> tuple[pa.RecordBatch, RowOrder]:
        """Rows together, and their order."""
        rows = pa.concat_batches([part.select(self._compared) for part in parts])
        return rows, self._ordering.of(rows, rows[HASH].to_numpy())


_LIVE, _IDENTITY, _SINCE, _NUMBER = "_n", "_i0", "_s", "_r"


class ShownRows:
    """The shown rows of one node in one bucket, with columns of these types, and perhaps their numbers."""

    def __init__(self, types: Mapping[str, pa.DataType], numbered: bool) -> None:
        names = (HASH, _LIVE, _IDENTITY, _SINCE, _NUMBER, BEGUN)
        numbers = [pa.field(name, pa.int64()) for name in names]
        self._schema = pa.schema([*numbers, *(pa.field(name, type_) for name, type_ in types.items())])
        self._row = [HASH, BEGUN, *types]
        self._data = [*types]
        self._numbered = numbered

    def of(self, hashes: IntArray, store: Store) -> pa.RecordBatch:
        """The rows of partitions that are shown."""
        return self._table(store).scan(hashes, hashes)

    def change(
        self,
        before: pa.RecordBatch,
        entry: IntArray,
        begun: NumberedEntries,
        ended: NumberedEntries,
        rows: pa.RecordBatch,
        firsts: IntArray,
        store: Store,
    ) -> Iterator[Delta]:
        """Begin and end to show rows; `before` are shown, with these entries.

        `firsts` says where `rows` has one of each entry.
        """
        begun = _in_order_of_time(begun)
        fresh = self._beginning(rows, firsts, begun, store)
        number, since, identity = (
            np.concatenate([before[name].to_numpy(), fresh[name].to_numpy()])
            for name in (_NUMBER, _SINCE, _IDENTITY)
        )
        ends = _end_times(np.concatenate([entry, begun.entry]), number, since, identity, ended)
        over = ends < FOREVER
        gone, left = (
            part.filter(pa.array(mask))
            for part, mask in zip((before, fresh), np.split(over, [before.num_rows]), strict=True)
        )
        self._write(gone, 0, store)
        self._write(fresh.filter(pa.array(~over[before.num_rows :])), 1, store)
        if fresh.num_rows or over.any():
            yield Delta(self._emitted(fresh), self._emitted(pa.concat_batches([gone, left]), ends[over]))

    def everything(self, store: Store) -> pa.RecordBatch:
        return self._table(store).everything()

    def forget(self, rows: pa.RecordBatch, store: Store) -> None:
        self._write(rows, 0, store)

    def size(self, store: Store) -> int:
        """About how many rows are shown."""
        return sum(run["rows"] for run in store.head.get("shown", ()))

    def _table(self, store: Store) -> KeyedTable:
        return KeyedTable(store, "shown", self._schema, [_IDENTITY], live=_LIVE)

    def _beginning(
        self, rows: pa.RecordBatch, firsts: IntArray, begun: NumberedEntries, store: Store
    ) -> pa.RecordBatch:
        count = len(begun.entry)
        chosen = rows.take(pa.array(firsts[begun.entry]))
        live, identities = np.ones(count, np.int64), take_identities(store, count)
        numbers = {_LIVE: live, _IDENTITY: identities, _SINCE: begun.time, _NUMBER: begun.number}
        arrays = [pa.array(numbers[name]) if name in numbers else chosen[name] for name in self._schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _emitted(self, rows: pa.RecordBatch, ends: IntArray | None = None) -> pa.RecordBatch:
        columns = [rows[name] for name in self._data]
        if self._numbered:
            columns.append(pa.array(rows[_NUMBER].to_numpy() + 1).cast(pa.int32()))
        return open_rows(rows[_SINCE].to_numpy(), rows[_IDENTITY].to_numpy(), columns, ends)

    def _write(self, rows: pa.RecordBatch, live: int, store: Store) -> None:
        if rows.num_rows:
            place = self._schema.get_field_index(_LIVE)
            marked = rows.set_column(place, _LIVE, pa.array(np.full(rows.num_rows, live)))
            self._table(store).write(marked)


def _in_order_of_time(begun: NumberedEntries) -> NumberedEntries:
    """So identities do not depend on what came in one step."""
    order = np.lexsort((begun.number, begun.entry, begun.time))
    return NumberedEntries(*(column[order] for column in begun))


def _end_times(
    entry: IntArray, number: IntArray, since: IntArray, identity: IntArray, ended: NumberedEntries
) -> IntArray:
    """When each of the shown rows ends, FOREVER if it does not."""
    span = int(max(number.max(initial=0), ended.number.max(initial=0))) + 1
    keys, ending = entry * span + number, ended.entry * span + ended.number
    order = np.lexsort((identity, since, keys))
    by_time = np.lexsort((ended.time, ending))
    ending = ending[by_time]
    nth = np.arange(len(ending)) - np.searchsorted(ending, ending)
    ends = np.full(len(entry), FOREVER)
    ends[order[np.searchsorted(keys[order], ending) + nth]] = ended.time[by_time]
    return ends
