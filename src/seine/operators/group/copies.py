"""Copies of rows that follow event time: each row as often as a function of its counts in two inputs says.

The copies of a row are numbered from 1 on, its *levels*. Copy j is there while the function is j or more, so
levels begin and end one by one, and what a copy was emitted with, start and identity, is kept by row and
level. A step costs what changes, not how often a row is there.

    instant           3    5    8    9
    f(m, n)           2    1    3    0
    level 1           +─────────────-
    level 2           +────-    +────-
    level 3                     +────-
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, IntArray
from seine.operators.group.grouped import SECOND
from seine.operators.state.change_layout import ChangeLayout, lay_out
from seine.operators.state.event_queue import EventQueue, EventTimes, times_of, weights_of
from seine.operators.state.keyed_table import HASH, KeyedTable
from seine.operators.state.store import Store, open_rows, take_identities
from seine.rows.column_arrays import ColumnArray, as_arrow, as_column, take_values
from seine.rows.delta import Delta, concat_batches
from seine.rows.grouping import group_rows

_LIVE, _FIRST, _SECOND, _LEVEL = "_live", "_m", "_n", "_level"
_SPREAD = np.int64(0x9E3779B97F4A7C15 - 2**64)  # the hashes of a row's levels are apart


@dataclass(frozen=True)
class _Levels:
    """Changes of levels, by row, level and time: `group` and `level` say which, `place` when.

    Changes of one level alternate; `opens` are where those of another begin, `closes` the last of each.
    """

    group: IntArray
    level: IntArray
    place: IntArray
    begins: AnyArray
    opens: IntArray
    closes: IntArray


class Copies:
    """Rows by value with their counts in two inputs, and the copies of them that are emitted."""

    def __init__(
        self, keys: Sequence[pa.DataType], multiplicity: Callable[[IntArray, IntArray], IntArray]
    ) -> None:
        self._keys = [f"k{i}" for i in range(len(keys))]
        self._multiplicity = multiplicity
        typed = [pa.field(name, type_) for name, type_ in zip(self._keys, keys, strict=True)]
        counts = (HASH, _LIVE, _FIRST, _SECOND)
        levels = (HASH, _LIVE, _LEVEL, "_s", "_i0")
        self._counts = pa.schema([*(pa.field(name, pa.int64()) for name in counts), *typed])
        self._levels = pa.schema([*(pa.field(name, pa.int64()) for name in levels), *typed])

    def advance(self, arrived: EventTimes, bound: int, store: Store) -> Iterator[Delta]:
        """Take events in, and emit all copies that begin or end before the bound."""
        due = EventQueue(store, "events").due(arrived.events, bound)
        if due:
            yield self._change(concat_batches(due), store)

    def size(self, store: Store) -> int:
        """About how many rows there are, copies not counted."""
        return sum(run["rows"] for run in store.head.get("groups", ()))

    def release(self, finished: Callable[[pa.RecordBatch], AnyArray], store: Store) -> int:
        """Forget rows that nothing will change; `finished` says where they are among all. How many stay."""
        table = self._counts_table(store)
        rows = table.everything()
        gone = rows.take(pa.array(finished(rows)))
        if gone.num_rows:
            copies = self._multiplicity(gone[_FIRST].to_numpy(), gone[_SECOND].to_numpy())
            group = np.repeat(np.arange(gone.num_rows), copies)
            level = np.arange(len(group)) - np.repeat(np.cumsum(copies) - copies, copies) + 1
            keys = [as_column(gone[name]) for name in self._keys]
            nothing = np.zeros(len(group), np.int64)
            self._write_levels(gone[HASH].to_numpy(), keys, group, level, nothing, nothing, nothing, store)
            table.write(gone.set_column(1, _LIVE, pa.array(np.zeros(gone.num_rows, np.int64))))
        return int(rows.num_rows) - int(gone.num_rows)

    def _change(self, due: pa.RecordBatch, store: Store) -> Delta:
        hashes, times = due[HASH].to_numpy(), times_of(due)
        keys = [as_column(due[name]) for name in self._keys]
        groups = group_rows(hashes, keys).sorted_by(times)
        layout, places = lay_out(groups, times.take(groups.order))
        hashes, keys = hashes.take(groups.firsts), [take_values(key, groups.firsts) for key in keys]
        weights, second = (a.take(groups.order) for a in (weights_of(due), due[SECOND].to_numpy()))
        copies, before = self._counted(layout, places, weights, second, hashes, keys, store)
        levels = _levels(layout, copies, before)
        return self._emit(levels, layout, hashes, keys, store)

    def _counted(
        self,
        layout: ChangeLayout,
        places: IntArray,
        weights: IntArray,
        second: AnyArray,
        hashes: IntArray,
        keys: list[ColumnArray],
        store: Store,
    ) -> tuple[IntArray, IntArray]:
        """How many copies there are at each place, and before it; the counts are kept."""
        table = self._counts_table(store)
        stored, reached = table.find(hashes, keys), layout.reached(places)
        known = [stored.numbers(name) for name in (_FIRST, _SECOND)]
        m, n = (layout.running(reached, weights * (second == side), known[side]) for side in (0, 1))
        last = [count.take(layout.last) for count in (m, n)]
        live = ((last[0] != 0) | (last[1] != 0)).astype(np.int64)
        worth = ((live > 0) | (stored.at >= 0)).nonzero()[0]
        columns = [hashes, live, *last, *keys]
        table.write(
            pa.RecordBatch.from_arrays(
                [as_arrow(take_values(column, worth)) for column in columns], schema=self._counts
            )
        )
        copies = self._multiplicity(m, n)
        return copies, layout.previous(copies, self._multiplicity(*known))

    def _emit(
        self, levels: _Levels, layout: ChangeLayout, hashes: IntArray, keys: list[ColumnArray], store: Store
    ) -> Delta:
        since, identity = self._identities(levels, layout, hashes, keys, store)
        ends = (~levels.begins).nonzero()[0]
        began = levels.begins.nonzero()[0]
        # Where a level ends, the change before it is its beginning; `since` has that too.
        closing = levels.closes
        live = levels.begins.take(closing)
        known = ~levels.begins.take(levels.opens)  # it was there before the step
        worth = closing[live | known]
        self._write_levels(
            hashes,
            keys,
            levels.group.take(worth),
            levels.level.take(worth),
            since.take(worth),
            identity.take(worth),
            levels.begins.take(worth).astype(np.int64),
            store,
        )
        plus = self._rows(levels, began, since, identity, keys)
        minus = self._rows(levels, ends, since, identity, keys, layout.time.take(levels.place.take(ends)))
        return Delta(plus, minus)

    def _identities(
        self, levels: _Levels, layout: ChangeLayout, hashes: IntArray, keys: list[ColumnArray], store: Store
    ) -> tuple[IntArray, IntArray]:
        """For each change since when, and with which identity, the copy is there that begins or ends.

        Identities are given in the order of instants, then of rows and levels, however steps are cut.
        """
        times = layout.time.take(levels.place)
        since, identity = times.copy(), np.zeros(len(times), np.int64)
        began = levels.begins.nonzero()[0]
        order = began.take(np.argsort(times.take(began), kind="stable"))
        identity[order] = take_identities(store, len(order))
        earlier = levels.opens[~levels.begins.take(levels.opens)]
        group, level = levels.group.take(earlier), levels.level.take(earlier)
        probed = [*(take_values(key, group) for key in keys), as_column(pa.array(level))]
        stored = self._levels_table(store).find(_hashes(hashes, group, level), probed)
        ends = (~levels.begins).nonzero()[0]
        since[ends], identity[ends] = since.take(ends - 1), identity.take(ends - 1)
        since[earlier], identity[earlier] = stored.numbers("_s"), stored.numbers("_i0")
        return since, identity

    def _rows(
        self,
        levels: _Levels,
        wanted: IntArray,
        since: IntArray,
        identity: IntArray,
        keys: list[ColumnArray],
        ends: IntArray | None = None,
    ) -> pa.RecordBatch:
        groups = levels.group.take(wanted)
        columns = [take_values(key, groups) for key in keys]
        return open_rows(since.take(wanted), identity.take(wanted), columns, ends)

    def _write_levels(
        self,
        hashes: IntArray,
        keys: list[ColumnArray],
        group: IntArray,
        level: IntArray,
        since: IntArray,
        identity: IntArray,
        live: IntArray,
        store: Store,
    ) -> None:
        columns: list[ColumnArray] = [_hashes(hashes, group, level), live, level, since, identity]
        columns += [take_values(key, group) for key in keys]
        batch = pa.RecordBatch.from_arrays([as_arrow(column) for column in columns], schema=self._levels)
        self._levels_table(store).write(batch)

    def _counts_table(self, store: Store) -> KeyedTable:
        return KeyedTable(store, "groups", self._counts, self._keys, live=_LIVE)

    def _levels_table(self, store: Store) -> KeyedTable:
        return KeyedTable(store, "levels", self._levels, [*self._keys, _LEVEL], live=_LIVE)


def _hashes(hashes: IntArray, group: IntArray, level: IntArray) -> IntArray:
    """Where copies are kept."""
    with np.errstate(over="ignore"):
        spread: IntArray = hashes.take(group) + level * _SPREAD
    return spread


def _levels(layout: ChangeLayout, copies: IntArray, before: IntArray) -> _Levels:
    """The levels that begin where there are more copies than before, and end where there are fewer."""
    change = copies - before
    places = np.repeat(np.arange(layout.size), np.abs(change))
    lowest = np.minimum(copies, before)
    within = np.arange(len(places)) - np.searchsorted(places, places)
    level = lowest.take(places) + within + 1
    group = layout.group.take(places)
    order = np.lexsort((places, level, group))
    group, level, places = group.take(order), level.take(order), places.take(order)
    new = np.ones(len(order), bool)
    new[1:] = (group[1:] != group[:-1]) | (level[1:] != level[:-1])
    opens = new.nonzero()[0]
    closes = np.append(opens[1:], len(order))[: len(opens)] - 1
    return _Levels(group, level, places, change.take(places) > 0, opens, closes)
