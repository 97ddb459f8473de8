"""Results by group that follow event time: the common core of aggregates, DISTINCT and EXCEPT.

For every group and every instant at which its result changes, the old result row ends (an early
end) and the new one begins. Instants are taken when they are complete, so the output does not
depend on how the input was cut into steps, not even in its identities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.operators.aggregates.calls import Compiled
from seine.operators.aggregates.folding import Events, Folding
from seine.operators.delta import NEVER, Delta
from seine.operators.events import EventQueue, times_of, weights_of
from seine.operators.grouping import equal, group_rows
from seine.operators.keyed import HASH, Found, KeyedTable
from seine.operators.layout import Layout, lay_out
from seine.operators.records import open_rows, take_identities
from seine.operators.store import Store

SECOND = "_p"  # 1 for a row of EXCEPT's second input, else 0
_NUMBERS = (HASH, "_live", "_n", "_m", "_g", "_s", "_i0")


@dataclass(frozen=True)
class Step:
    """The groups that one step touches: their keys and state, and at each place how many rows are alive."""

    layout: Layout
    events: Events
    hashes: np.ndarray
    keys: list[pa.Array]
    found: Found
    rows: np.ndarray
    second: np.ndarray
    numbers: np.ndarray


@dataclass(frozen=True)
class Results:
    """Result rows at all places: their columns, since when they are there, and their identities."""

    columns: list[pa.Array]
    since: np.ndarray
    identity: np.ndarray

    def take(self, places: np.ndarray, ends: np.ndarray | None = None) -> pa.RecordBatch:
        columns = [column.take(pa.array(places)) for column in self.columns]
        return open_rows(self.since[places], self.identity[places], columns, ends)


class Grouped:
    """Groups of rows by key, and a result row for each that has one."""

    def __init__(
        self, keys: Sequence[pa.DataType], calls: Sequence[Compiled], types: Sequence[pa.DataType]
    ) -> None:
        self.folding = Folding(calls)
        self._keys = [f"k{i}" for i in range(len(keys))]
        self._results = [pa.field(f"r{i}", type_) for i, type_ in enumerate(types)]
        numbers = [pa.field(name, pa.int64()) for name in _NUMBERS]
        typed = [pa.field(name, type_) for name, type_ in zip(self._keys, keys, strict=True)]
        self._schema = pa.schema([*numbers, *typed, *self._results, *self.folding.fields])

    def advance(self, arrived: list[pa.RecordBatch], bound: int, store: Store) -> Iterator[Delta]:
        """Take events in, and tell all changes of results before the bound."""
        table = KeyedTable(store, "groups", self._schema, self._keys, live="_live")
        if not self._keys and "begun" not in store.head:
            store.head["begun"] = True
            yield self._begin(table, store)
        due = EventQueue(store, "events").advance(arrived, bound)
        if due is not None:
            yield self._change(self._step(due, table, store), table, store)

    def _begin(self, table: KeyedTable, store: Store) -> Delta:
        """The one row of an aggregate without keys is there before anything happens."""
        none, one = np.zeros(0, np.int64), np.zeros(1, np.int64)
        layout = Layout(one, one, one, one + NEVER)
        found = table.find(one, [])
        step = Step(layout, Events(none, none, None), one, [], found, one, one, one)
        made, kept = self.folding.advance(step.events, layout, one, found, one, store)
        typed = [array.cast(field.type) for array, field in zip(made, self._results, strict=True)]
        results = Results(typed, one + NEVER, take_identities(store, 1))
        self._write(step, results, typed, kept, table)
        return Delta(results.take(one), results.take(none, none))

    def _step(self, due: pa.RecordBatch, table: KeyedTable, store: Store) -> Step:
        hashes = due[HASH].to_numpy() if self._keys else np.zeros(due.num_rows, np.int64)
        groups = group_rows(hashes, [due[name] for name in self._keys])
        ordered = due.take(pa.array(groups.order))
        layout, places = lay_out(groups, times_of(ordered))
        keys = [due[name].take(pa.array(groups.firsts)) for name in self._keys]
        found = table.find(hashes[groups.firsts], keys)
        weights, reached = weights_of(ordered), layout.reached(places)
        rows = layout.running(reached, weights, found.numbers("_n"))
        second = np.zeros(layout.size, np.int64)
        if SECOND in due.schema.names:
            second = layout.running(reached, weights * ordered[SECOND].to_numpy(), found.numbers("_m"))
        numbers = np.where(found.at >= 0, found.numbers("_g"), _new_numbers(store, layout.groups))
        events = Events(places, weights, ordered)
        return Step(layout, events, hashes[groups.firsts], keys, found, rows, second, numbers)

    def _change(self, step: Step, table: KeyedTable, store: Store) -> Delta:
        layout = step.layout
        made, kept = self.folding.advance(step.events, layout, step.rows, step.found, step.numbers, store)
        values = [self._with_stored(step, i, array) for i, array in enumerate(made)]
        exists = (step.rows > 0) & (step.second == 0) if self._keys else np.ones(layout.size, bool)
        changed = _changed(exists, values) & ~layout.before
        begins = np.flatnonzero(changed & exists)
        ends = np.flatnonzero(changed & np.append(False, exists[:-1]))
        held = np.zeros(layout.size, np.int64)
        held[layout.first], held[begins] = layout.first, begins
        held = np.maximum.accumulate(held)
        keys = [key.take(pa.array(layout.group)) for key in step.keys]
        since, identity = self._begun(step, begins, store)
        results = Results(keys + values, since, identity)
        plus, minus = results.take(begins), results.take(held[ends - 1], layout.time[ends])
        at_last = Results([], since[held], identity[held])
        self._write(step, at_last, values, kept, table)
        return Delta(plus, minus)

    def _with_stored(self, step: Step, i: int, made: pa.Array) -> pa.Array:
        """What was told before the step is kept, not computed again: its end must repeat it."""
        field, layout = self._results[i], step.layout
        pick = np.arange(layout.size)
        pick[layout.first] = layout.size + np.arange(layout.groups)
        both = pa.concat_arrays([made.cast(field.type), step.found.column(field.name)])
        return both.take(pa.array(pick))

    def _begun(self, step: Step, begins: np.ndarray, store: Store) -> tuple[np.ndarray, np.ndarray]:
        """Since when, and with which identity, a row is there that begins at a place or was there before."""
        layout = step.layout
        since, identity = layout.time.copy(), np.zeros(layout.size, np.int64)
        since[layout.first] = step.found.numbers("_s")
        identity[layout.first] = step.found.numbers("_i0")
        in_time = np.lexsort((step.hashes[layout.group[begins]], layout.time[begins]))
        identity[begins[in_time]] = take_identities(store, len(begins))
        return since, identity

    def _write(
        self, step: Step, results: Results, values: list[pa.Array], kept: list[pa.Array], table: KeyedTable
    ) -> None:
        last = step.layout.last
        live = (step.rows[last] > 0) if self._keys else np.ones(len(last), bool)
        numbers = [step.hashes, live.astype(np.int64), step.rows[last], step.second[last], step.numbers]
        numbers += [results.since[last], results.identity[last]]
        told = [array.take(pa.array(last)) for array in values]
        arrays = [*map(pa.array, numbers), *step.keys, *told, *kept]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        worth = live | (step.found.at >= 0)
        table.write(batch if worth.all() else batch.filter(pa.array(worth)))


def _new_numbers(store: Store, count: int) -> np.ndarray:
    """Numbers for groups that are new; a group that comes back after its end gets another."""
    first = store.head.get("numbers", 0)
    store.head["numbers"] = first + count
    return first + np.arange(count)


def _changed(exists: np.ndarray, columns: Sequence[pa.Array]) -> np.ndarray:
    """The places whose result is another than at the place before."""
    same = np.ones(len(exists), bool)
    for column in columns:
        same[1:] &= equal(column[1:], column[:-1])
    was = np.append(False, exists[:-1])
    return (exists != was) | (exists & ~same)
