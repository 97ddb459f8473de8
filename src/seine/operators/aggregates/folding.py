"""The accumulators of all aggregate calls of a node, with common subexpressions shared.

For `SELECT AVG(x), SUM(x), COUNT(DISTINCT y)` three folds are kept: COUNT(x), SUM(x) and COUNT(DISTINCT y).

    event columns    a0_0 (x)   a1_0 (y)          arguments, evaluated once when an event is queued
    state columns    f0_0   f1_0 f1_1   f2_0      what the folds keep of each group

Roll-up aggregation: folds of coarser groups that are advanced by partial aggregates of finer groups.

    GROUP BY bank, day  ── parts: COUNT, SUM, MIN of each (bank, day) ──>  GROUP BY bank

A count or a sum of a group is the sum over the finer groups that make it up, and changes by the sum of
their changes; its extreme is the extreme of theirs. So the rows themselves are not needed again.

Cites: ARGUS 5.3 (vertical expansion of algebraic functions)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import columns_of
from seine.operators.aggregates.argument import complete
from seine.operators.aggregates.calls import CompiledAggregate, FoldKey
from seine.operators.aggregates.fold import Changes, FoldState
from seine.operators.aggregates.value_counts import ValueTable
from seine.operators.state.change_layout import ChangeLayout, Excerpt
from seine.operators.state.keyed_table import KeyedMatches
from seine.operators.state.store import Store
from seine.rows.grouping import as_mask

Named = tuple[str, pa.Array]


class SharedFolds:
    """The folds of a node, their arguments as columns of events, and their state as columns of groups.

    `carried` are calls of coarser groups, which are made of the parts (partial aggregates) of this node's
    groups. With a `width`, this node is itself fed by the parts of finer groups: its events have only so many
    columns of the row, the finer groups' keys.
    """

    def __init__(
        self,
        calls: Sequence[CompiledAggregate],
        carried: Sequence[CompiledAggregate] = (),
        width: int | None = None,
    ) -> None:
        self._calls = calls
        finished = dict.fromkeys(key for call in calls for key in call.folds)
        passed = dict.fromkeys(key for call in carried for key in call.folds)
        # A part that only coarser groups need is made of changes alone; but a part of an extreme needs state.
        keys = list(finished | {key: None for key in passed if key.is_extreme})
        everything = list(finished | passed)
        self._partial = PartialFolds(everything, width)
        plain = [key for key in everything if key not in self._partial]
        self._arguments = list(dict.fromkeys(key.argument for key in plain))
        self._types = [argument.types for argument in self._arguments]
        self._counted = {
            self._arguments.index(key.argument) for key in keys if key in plain and key.counts_values
        }
        self._folds = {key: _NamedFold(key, i) for i, key in enumerate(keys)}
        self._passed = {key: self._folds.get(key) or _NamedFold(key, -1) for key in passed}
        self._of_call = [[keys.index(key) for key in call.folds] for call in calls]

    @property
    def fields(self) -> list[pa.Field]:
        """The columns of a group's state."""
        return [field for fold in self._folds.values() for field in fold.fields]

    def columns(self, row: Sequence[pa.Array], num_rows: int, notice: Callable[[str], None]) -> list[Named]:
        """The columns that the events of rows carry for the arguments."""
        made = [argument.columns(row, num_rows, notice) for argument in self._arguments]
        return [(f"a{i}_{j}", array) for i, arrays in enumerate(made) for j, array in enumerate(arrays)]

    @property
    def reads(self) -> frozenset[int]:
        """The columns of the row that arguments read."""
        return frozenset(i for argument in self._arguments for e in argument.expressions for i in e.columns)

    def parts_of(self, batch: pa.RecordBatch) -> list[Named]:
        """The columns that events carry where they are parts of finer groups."""
        return [(name, batch[name]) for name in self._partial.names]

    @property
    def counts_values(self) -> bool:
        """Whether a fold keeps values by group, so that groups need numbers."""
        return any(key.counts_values for key in self._folds)

    def advance(
        self, events: Events, layout: ChangeLayout, stored: KeyedMatches, numbers: IntArray, store: Store
    ) -> tuple[list[Any], FoldState, Callable[[Excerpt], list[Named]]]:
        """The values of all folds at all places, the state to store of each group, and what makes parts."""
        by_argument = [self._changes(i, events, layout, numbers, store) for i in range(len(self._arguments))]
        changes = {
            key: by_argument[self._arguments.index(key.argument)]
            for key in {**self._folds, **self._passed}
            if key not in self._partial
        }
        changes.update(self._partial.changes(events, layout, numbers, store))
        values, kept = {}, []
        for key, fold in self._folds.items():
            values[key], state = fold.advance(changes[key], stored)
            kept += state

        def parts(excerpt: Excerpt) -> list[Named]:
            return [
                part
                for key, fold in self._passed.items()
                for part in fold.part(changes[key], values.get(key), stored, excerpt)
            ]

        return list(values.values()), kept, parts

    def finish(self, rows: IntArray, values: list[Any], places: IntArray) -> list[pa.Array]:
        """The results of all calls at the given places; `rows` is the number of live rows at every place."""
        if len(places) < len(rows):
            rows, values = rows.take(places), [value.take(places) for value in values]
        return [
            call.finish(rows, *(values[i] for i in folds))
            for call, folds in zip(self._calls, self._of_call, strict=True)
        ]

    def forget(self, numbers: IntArray, store: Store) -> None:
        """Purge the values of groups that nothing can change any more."""
        for i in self._counted:
            ValueTable(store, f"values{i}", self._types[i]).forget(numbers)

    def _changes(
        self, i: int, events: Events, layout: ChangeLayout, numbers: IntArray, store: Store
    ) -> Changes:
        arrays = [events.column(f"a{i}_{j}", type_) for j, type_ in enumerate(self._types[i])]
        places, reached, weights = events.places, events.reached, events.weights
        if any(array.null_count for array in arrays):
            known = complete(arrays, len(places))
            arrays = [array.filter(pa.array(known)) for array in arrays]
            places, weights = places[known], weights[known]
            reached = layout.reached(places)
        if i not in self._counted:
            return Changes(layout, places, reached, weights, arrays)
        table = ValueTable(store, f"values{i}", self._types[i])
        step = table.advance(layout, numbers, places, weights, arrays)
        return Changes(layout, places, reached, weights, arrays, step)


class _NamedFold:
    """A fold, and the names of its state columns."""

    def __init__(self, key: FoldKey, number: int) -> None:
        self._key = key
        self._fold = key.fold()
        self.fields = [pa.field(f"f{number}_{j}", type_) for j, type_ in enumerate(self._fold.state)]
        self._names = [field.name for field in self.fields]
        # An extreme is the same over distinct values; other folds are given each distinct value once.
        self._distinct = key.argument.distinct and not key.takes_repeats

    def advance(self, changes: Changes, stored: KeyedMatches) -> tuple[Any, FoldState]:
        changes = changes.distinct() if self._distinct else changes
        return self._fold.advance(changes, stored, self._names)

    def part(self, changes: Changes, value: Any, stored: KeyedMatches, excerpt: Excerpt) -> list[Named]:
        start = None
        if self._key.is_extreme:
            value = value.take(pa.array(excerpt.places))
            start = stored.column(self._names[0]).take(pa.array(excerpt.groups))
        arrays = self._fold.part(changes.within(excerpt), value, start)
        return [(part_name(self._key, j), array) for j, array in enumerate(arrays)]


class Events:
    """The events of a step in the order of their places; `order` are their rows in the batch."""

    def __init__(
        self,
        places: IntArray,
        reached: IntArray,
        weights: IntArray,
        batch: pa.RecordBatch | None,
        order: IntArray,
    ) -> None:
        self.places = places
        self.reached = reached
        self.weights = weights
        self._batch = batch
        self._order = order

    def column(self, name: str, type_: pa.DataType) -> pa.Array:
        """A column of the events; NULL in events that are older than the first query that needs it."""
        if self._batch is None or name not in self._batch.schema.names:
            return pa.nulls(len(self._order), type_)
        return self._batch[name].take(pa.array(self._order))


def part_name(key: FoldKey, number: int, width: int = 0) -> str:
    """The name of a partial column: the same in the finer node and, with its `width`, in the coarser one."""
    return f"_p{key.kind}:{key.argument.label(width)}:{number}"


class PartialFolds:
    """The folds whose argument is not among the first `width` columns: they need partial aggregates."""

    def __init__(self, keys: Sequence[FoldKey], width: int | None) -> None:
        self._folds = {key: key.fold() for key in keys if width is not None and _lies_behind(key, width)}
        self._names = {
            key: [part_name(key, j, width or 0) for j in range(len(fold.parts))]
            for key, fold in self._folds.items()
        }

    def __contains__(self, key: FoldKey) -> bool:
        return key in self._folds

    @property
    def names(self) -> list[str]:
        """The partial columns that events carry for them."""
        return list(dict.fromkeys(name for names in self._names.values() for name in names))

    def changes(
        self, events: Events, layout: ChangeLayout, numbers: IntArray, store: Store
    ) -> dict[FoldKey, Changes]:
        """The changes that each of them is advanced by."""
        made = {}
        for i, (key, fold) in enumerate(self._folds.items()):
            arrays = [
                events.column(name, type_) for name, type_ in zip(self._names[key], fold.parts, strict=True)
            ]
            if key.is_extreme:
                table = ValueTable(store, f"parts{i}", fold.state)
                made[key] = _replaced(events, layout, numbers, table, arrays)
            else:
                made[key] = Changes(
                    layout, events.places, events.reached, events.weights, arrays, are_partials=True
                )
        return made


def _lies_behind(key: FoldKey, width: int) -> bool:
    return any(index >= width for e in key.argument.expressions for index in columns_of(e))


def _replaced(
    events: Events, layout: ChangeLayout, numbers: IntArray, table: ValueTable, arrays: list[pa.Array]
) -> Changes:
    """Changes of extremes of finer groups as changes of values: the old one leaves, the new one comes."""
    count = len(events.places)
    side_by_side = np.arange(2 * count).reshape(2, count).T.ravel()
    values = pa.concat_arrays(arrays).take(pa.array(side_by_side))
    known = np.flatnonzero(as_mask(values.is_valid()))
    values = values.take(pa.array(known))
    places = np.repeat(events.places, 2).take(known)
    weights = np.tile(np.array([-1, 1]), count).take(known)
    step = table.advance(layout, numbers, places, weights, [values])
    return Changes(layout, places, layout.reached(places), weights, [values], step)
