"""Results by group that follow event time: the common core of aggregates, DISTINCT and EXCEPT.

For every group and every instant at which its result changes, the old result row ends (an early
end) and the new one begins. Instants are taken when they are complete, so the output does not
depend on how the input was cut into steps, not even in its identities.

A group with fewer rows than any reader's HAVING asks for may be dormant, without state (`dormant_groups.py`).

Which results are emitted: where a group's result begins, and where the one before it ends.

A result that is equal to the one before is not emitted again. What was emitted is kept, not computed again:
its end must repeat it. So results are counted, first those that begin in the step, in the order
of their places, then those that were found; a row is spoken of by that number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.operators.aggregates.calls import CompiledAggregate
from seine.operators.aggregates.fold import ROWS, FoldState
from seine.operators.aggregates.folding import Events, Named, SharedFolds
from seine.operators.group.dormant_groups import DormantGroups
from seine.operators.state.change_layout import ChangeLayout, Excerpt, lay_out
from seine.operators.state.event_queue import TIME, WEIGHT, EventQueue, EventTimes, times_of, weights_of
from seine.operators.state.keyed_table import HASH, KeyedMatches, KeyedTable
from seine.operators.state.store import Store, open_rows, take_identities
from seine.rows.column_arrays import (
    ColumnArray,
    as_arrow,
    as_column,
    concat_columns,
    none_if_all,
    take_or_null,
    take_values,
)
from seine.rows.delta import NEVER, Delta, GroupFilter, PartialAggregates, concat_batches, data_names
from seine.rows.grouping import all_equal, group_rows

SECOND = "_p"  # 1 for a row of EXCEPT's second input, else 0
NO_RESULT = -1  # the identity of a group that has no result row


@dataclass(frozen=True)
class GroupStep:
    """The groups that one step touches: their keys and state, and at each place how many rows are alive.

    `second` counts those of EXCEPT's second input.
    """

    layout: ChangeLayout
    events: Events
    hashes: AnyArray
    keys: list[ColumnArray]
    stored: KeyedMatches
    rows: AnyArray
    second: AnyArray | None
    numbers: AnyArray


class Grouped:
    """Groups of rows by key, and a result row for each that has one.

    A group's state is its hash, how many rows are alive (`_n`, in EXCEPT's second input `_m`), the number
    of the group (`_g`), start and identity of the row that is emitted, its keys, its results, and the
    folds'. A group of fewer than `least` rows has no result. Groups may sleep if their state goes by events
    alone.
    """

    def __init__(
        self,
        keys: Sequence[pa.DataType],
        calls: Sequence[CompiledAggregate],
        types: Sequence[pa.DataType],
        second: bool = False,
        carried: Sequence[CompiledAggregate] = (),
        width: int | None = None,
        least: int = 1,
        sleeps: bool = False,
    ) -> None:
        self.folding = SharedFolds(calls, carried, width)
        self._carries = bool(carried)
        self._keys = [f"k{i}" for i in range(len(keys))]
        self._results = [pa.field(f"r{i}", type_) for i, type_ in enumerate(types)]
        self._second = second
        self._least = least
        self._may_sleep = sleeps
        self._live = ROWS if keys else "_live"
        optional = {"_live": not keys, "_m": second, "_g": self.folding.counts_values}
        names = [name for name in (HASH, "_live", ROWS, "_m", "_g", "_s", "_i0") if optional.get(name, True)]
        numbers = [pa.field(name, pa.int64()) for name in names]
        typed = [pa.field(name, type_) for name, type_ in zip(self._keys, keys, strict=True)]
        self._schema = pa.schema([*numbers, *typed, *self._results, *self.folding.fields])
        none, empty = np.zeros(0, np.int64), [pa.nulls(0, type_) for type_ in (*keys, *types)]
        self._nothing = open_rows(none, none, empty), open_rows(none, none, empty, none)

    def advance(self, arrived: EventTimes, bound: int, store: Store) -> Iterator[Delta | PartialAggregates]:
        """Take events in, and emit all changes of results before the bound."""
        table = KeyedTable(store, "groups", self._schema, self._keys, live=self._live)
        if not self._keys and "begun" not in store.head:
            store.head["begun"] = True
            yield from self._change(self._beginning(table, store), table, store)
        queue = EventQueue(store, "events")
        due = queue.due(arrived.events, bound)
        dormant = DormantGroups(store, queue, self._least, self._counted)
        awake = dormant.wake(due, arrived.unending)
        if awake:
            yield from self._change(self._step(concat_batches(awake), table, store), table, store)
        if due and self._may_sleep:
            dormant.settle(table, lambda gone: self._forget(gone, table, store))

    def size(self, store: Store) -> int:
        """About how many groups there are."""
        return sum(run["rows"] for run in store.head.get("groups", ()))

    def release(self, finished: Callable[[pa.RecordBatch], AnyArray], store: Store) -> int:
        """Forget groups that nothing will change; `finished` says where they are among all. How many stay."""
        table = KeyedTable(store, "groups", self._schema, self._keys, live=self._live)
        groups = table.everything()
        gone = groups.take(pa.array(finished(groups)))
        self._forget(gone, table, store)
        return int(groups.num_rows) - int(gone.num_rows)

    def _forget(self, gone: pa.RecordBatch, table: KeyedTable, store: Store) -> None:
        """Forget groups, given as they are in the table."""
        if not gone.num_rows:
            return
        if self.folding.counts_values:
            self.folding.forget(np.unique(gone["_g"].to_numpy()), store)
        place = self._schema.get_field_index(ROWS)
        table.write(gone.set_column(place, ROWS, pa.array(np.zeros(gone.num_rows, np.int64))))

    def _counted(self, events: pa.RecordBatch) -> AnyArray:
        """The weights of events that can give a group a result: EXCEPT has none without its first input."""
        weights = weights_of(events)
        return weights * (events[SECOND].to_numpy() == 0) if self._second else weights

    def _beginning(self, table: KeyedTable, store: Store) -> GroupStep:
        """The one row of an aggregate without keys is there before anything happens."""
        none, one = np.zeros(0, np.int64), np.zeros(1, np.int64)
        events = Events(none, one, none, None, none)
        layout = ChangeLayout(one, one, one, one + NEVER)
        return GroupStep(layout, events, one, [], table.find(one, []), one, None, self._new_numbers(store, 1))

    def _step(self, due: pa.RecordBatch, table: KeyedTable, store: Store) -> GroupStep:
        hashes = due[HASH].to_numpy() if self._keys else np.zeros(due.num_rows, np.int64)
        times = times_of(due)
        keys = [as_column(due[name]) for name in self._keys]
        groups = group_rows(hashes, keys).sorted_by(times)
        layout, places = lay_out(groups, times.take(groups.order))
        firsts = groups.firsts
        hashes, keys = hashes.take(firsts), [take_values(key, firsts) for key in keys]
        stored = table.find(hashes, keys)
        weights, reached = weights_of(due).take(groups.order), layout.reached(places)
        rows = layout.running(reached, weights, stored.numbers(ROWS))
        second = None
        if self._second:
            seconds = weights * due[SECOND].to_numpy().take(groups.order)
            second = layout.running(reached, seconds, stored.numbers("_m"))
        numbers = self._new_numbers(store, layout.groups)
        if self.folding.counts_values:
            numbers = np.where(stored.at >= 0, stored.numbers("_g"), numbers)
        events = Events(places, reached, weights, due, groups.order)
        return GroupStep(layout, events, hashes, keys, stored, rows, second, numbers)

    def _change(
        self, step: GroupStep, table: KeyedTable, store: Store
    ) -> Iterator[Delta | PartialAggregates]:
        layout, stored = step.layout, step.stored
        values, kept, parts = self.folding.advance(step.events, layout, stored, step.numbers, store)
        exists, existed = self._existence(step)
        shown = exists.nonzero()[0]
        finished = zip(self.folding.finish(step.rows, values, shown), self._results, strict=True)
        made = [as_column(_cast(array, field.type)) for array, field in finished]
        stored_results = [stored.rows(field.name) for field in self._results]
        changes = result_changes(layout, exists, existed, stored.at, made, stored_results)
        since, identity = self._identities(step, changes, store)
        held = np.where(exists.take(layout.last), changes.held, NO_RESULT)
        self._write(step, changes, held, since, identity, kept, table)
        yield self._delta(step, changes, since, identity)
        if self._carries:
            yield PartialAggregates(lambda wanted: self._parts(step, parts, wanted))

    def _parts(
        self, step: GroupStep, parts: Callable[[Excerpt], list[Named]], wanted: GroupFilter
    ) -> pa.RecordBatch:
        """What the rows of each place of the wanted groups add up to, with the keys of the group."""
        layout, events, names = step.layout, step.events, data_names(len(step.keys))
        keys = pa.RecordBatch.from_arrays([as_arrow(key) for key in step.keys], names)
        mask = wanted(keys)
        excerpt = Excerpt.of(layout, np.ones(layout.groups, bool) if mask is None else mask)
        groups = layout.group.take(excerpt.places)
        rows = layout.sums(events.reached, events.weights).take(excerpt.places)
        columns: list[tuple[str, ColumnArray]]
        columns = [(TIME, excerpt.layout.time), (WEIGHT, rows), *parts(excerpt)]
        columns += [(name, take_values(key, groups)) for name, key in zip(names, step.keys, strict=True)]
        return pa.RecordBatch.from_arrays(
            [as_arrow(array) for _, array in columns], [name for name, _ in columns]
        )

    def _existence(self, step: GroupStep) -> tuple[AnyArray, AnyArray]:
        """At which places there is a result row, and which groups had one before the step."""
        existed = (step.stored.at >= 0) & (step.stored.numbers("_i0") != NO_RESULT)
        if not self._keys:
            return np.ones(step.layout.size, bool), existed
        exists = step.rows >= self._least
        if step.second is not None:
            exists &= step.second == 0
            existed &= step.stored.numbers("_m") == 0  # state from before there was NO_RESULT
        return exists, existed

    def _identities(self, step: GroupStep, changes: ResultChanges, store: Store) -> tuple[AnyArray, AnyArray]:
        """Since when, and with which identity, the rows are there: first those that begin, then those found.

        Groups are in order of their hashes, so that rows that begin at one instant are too.
        """
        times, fresh = step.layout.time.take(changes.begins), take_identities(store, len(changes.begins))
        identity = np.empty_like(fresh)
        identity[np.argsort(times, kind="stable")] = fresh
        known = (step.stored.at >= 0).nonzero()[0]
        at = step.stored.at.take(known)
        stored = np.empty((2, len(known)), np.int64)
        stored[0, at] = step.stored.numbers("_s").take(known)
        stored[1, at] = step.stored.numbers("_i0").take(known)
        return np.concatenate([times, stored[0]]), np.concatenate([identity, stored[1]])

    def _delta(self, step: GroupStep, changes: ResultChanges, since: AnyArray, identity: AnyArray) -> Delta:
        begun, ended = self._nothing
        count = len(changes.begins)
        if count:
            columns = [*self._keys_at(step, changes.begins), *changes.begun()]
            begun = open_rows(since[:count], identity[:count], columns)
        if len(changes.ends):
            columns = [*self._keys_at(step, changes.ends), *changes.values(changes.ended)]
            times = step.layout.time.take(changes.ends)
            ended = open_rows(since.take(changes.ended), identity.take(changes.ended), columns, times)
        return Delta(begun, ended)

    def _keys_at(self, step: GroupStep, places: AnyArray) -> list[ColumnArray]:
        one_each = len(places) == step.layout.size == step.layout.groups
        groups = None if one_each else step.layout.group.take(places)
        return [take_values(key, groups) for key in step.keys]

    def _write(
        self,
        step: GroupStep,
        changes: ResultChanges,
        held: AnyArray,
        since: AnyArray,
        identity: AnyArray,
        kept: FoldState,
        table: KeyedTable,
    ) -> None:
        """Keep the groups that are alive, with the rows that they hold; say of others that they are gone."""
        rows = step.rows.take(step.layout.last)
        live = rows > 0 if self._keys else np.ones(len(rows), bool)
        worth = none_if_all((live | (step.stored.at >= 0)).nonzero()[0], len(rows))
        held = held if worth is None else held.take(worth)
        numbers = {HASH: take_values(step.hashes, worth), ROWS: take_values(rows, worth)}
        numbers["_s"], numbers["_i0"] = _at(since, held, 0), _at(identity, held, NO_RESULT)
        if not self._keys:
            numbers["_live"] = live.astype(np.int64)
        if step.second is not None:
            numbers["_m"] = take_values(step.second.take(step.layout.last), worth)
        if self.folding.counts_values:
            numbers["_g"] = take_values(step.numbers, worth)
        columns = [numbers[name] for name in self._schema.names[: len(numbers)]]
        columns += [*(take_values(key, worth) for key in step.keys), *changes.values(held)]
        columns += [take_values(column, worth) for column in kept]
        table.write(pa.RecordBatch.from_arrays([as_arrow(c) for c in columns], schema=self._schema))

    def _new_numbers(self, store: Store, count: int) -> AnyArray:
        """Numbers for groups that are new; a group that comes back after its end gets another."""
        if not self.folding.counts_values:
            return np.zeros(0, np.int64)
        first: int = store.head.get("numbers", 0)
        store.head["numbers"] = first + count
        return first + np.arange(count)


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return array if array.type == type_ else array.cast(type_)


def _at(numbers: AnyArray, places: AnyArray, none: int) -> AnyArray:
    """The numbers at places, and what stands for none at place -1."""
    return np.append(numbers, none).take(places)


@dataclass(frozen=True)
class ResultChanges:
    """Rows begin at places `begins`; at places `ends` rows `ended` do.

    `held` is the last row of each group, also if it has ended; -1 for a group that had none.
    """

    begins: AnyArray
    ends: AnyArray
    ended: AnyArray
    held: AnyArray
    _begun: list[ColumnArray]
    _stored: list[ColumnArray]

    def begun(self) -> list[ColumnArray]:
        """The results that begin."""
        return self._begun

    def values(self, rows: AnyArray) -> list[ColumnArray]:
        """The results of some rows; -1 is none."""
        pools = zip(self._begun, self._stored, strict=True)
        return [take_or_null(concat_columns(one, other), rows) for one, other in pools]


def result_changes(
    layout: ChangeLayout,
    exists: AnyArray,
    existed: AnyArray,
    at: AnyArray,
    made: Sequence[ColumnArray],
    stored: list[ColumnArray],
) -> ResultChanges:
    """What to emit of results that are `made` at the places where one exists.

    Of the groups that `existed` before, the result is `stored` at place `at`, if that is not -1.
    """
    was = layout.previous(exists, existed)
    number = np.cumsum(exists) - 1  # of what is made, by place
    same = _unchanged(layout, exists & was, number, at, made, stored)
    begin, end = exists.copy(), was
    begin[same] = end[same] = False
    begins, ends = begin.nonzero()[0], end.nonzero()[0]
    held = _held(layout, begin, begins, at)
    ended = layout.previous(held, np.where(at < 0, -1, at + len(begins))).take(ends)
    numbers = none_if_all(number.take(begins), int(np.count_nonzero(exists)))
    begun = [take_values(column, numbers) for column in made]
    return ResultChanges(begins, ends, ended, held.take(layout.last), begun, stored)


def _held(layout: ChangeLayout, begin: AnyArray, begins: AnyArray, at: AnyArray) -> AnyArray:
    """The number of the row that began last at each place, or was there before."""
    begun = np.cumsum(begin)  # at or before a place
    inside = begun > (begun - begin).take(layout.first).take(layout.group)
    before = np.where(at < 0, -1, at + len(begins)).take(layout.group)
    return np.where(inside, begun - 1, before)


def _unchanged(
    layout: ChangeLayout,
    both: AnyArray,
    number: AnyArray,
    at: AnyArray,
    made: Sequence[ColumnArray],
    stored: list[ColumnArray],
) -> AnyArray:
    """The places, of those with a result there and before, where it stays the same."""
    places = both.nonzero()[0]
    if not made or not len(places):
        return places
    before = layout.previous(number, at + int(number[-1]) + 1)
    one, other = number.take(places), before.take(places)
    pools = [concat_columns(new, old) for new, old in zip(made, stored, strict=True)]
    same = all_equal(
        [take_values(pool, one) for pool in pools], [take_values(pool, other) for pool in pools], len(places)
    )
    return places[same]
