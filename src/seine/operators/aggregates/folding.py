"""All aggregate calls of a node together: what several of them need is kept once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from seine.operators.aggregates.argument import complete
from seine.operators.aggregates.calls import Compiled, FoldKey
from seine.operators.aggregates.fold import Changes, Kept
from seine.operators.keyed import Found
from seine.operators.layout import Layout
from seine.operators.store import Store
from seine.operators.values import ValueTable


class Folding:
    """The folds of a node, their arguments as columns of events, and their state as columns of groups."""

    def __init__(self, calls: Sequence[Compiled]) -> None:
        self._calls = calls
        keys = list(dict.fromkeys(key for call in calls for key in call.folds))
        self._arguments = list(dict.fromkeys(key.argument for key in keys))
        self._types = [argument.types for argument in self._arguments]
        self._counted = {self._arguments.index(key.argument) for key in keys if key.counts_values}
        self._folds = [_NamedFold(key, self._arguments.index(key.argument), i) for i, key in enumerate(keys)]
        self._of_call = [[keys.index(key) for key in call.folds] for call in calls]

    @property
    def fields(self) -> list[pa.Field]:
        """The columns of a group's state."""
        return [field for fold in self._folds for field in fold.fields]

    def columns(
        self, row: Sequence[pa.Array], num_rows: int, notice: Callable[[str], None]
    ) -> list[tuple[str, pa.Array]]:
        """The columns that events carry for the arguments."""
        made = [argument.columns(row, num_rows, notice) for argument in self._arguments]
        return [(f"a{i}_{j}", array) for i, arrays in enumerate(made) for j, array in enumerate(arrays)]

    @property
    def counts_values(self) -> bool:
        """Does it need numbers of groups?"""
        return bool(self._counted)

    def advance(
        self, events: Events, layout: Layout, found: Found, numbers: np.ndarray, store: Store
    ) -> tuple[list[Any], Kept]:
        """What the folds are at all places, and the state to keep of each group."""
        changes = [self._changes(i, events, layout, numbers, store) for i in range(len(self._arguments))]
        values, kept = [], []
        for fold in self._folds:
            value, state = fold.advance(changes[fold.argument], found)
            values.append(value)
            kept += state
        return values, kept

    def finish(self, rows: np.ndarray, values: list[Any], places: np.ndarray) -> list[pa.Array]:
        """The results of all calls at some places, given how many rows are alive there."""
        if len(places) < len(rows):
            rows, values = rows.take(places), [value.take(places) for value in values]
        return [
            call.finish(rows, *(values[i] for i in folds))
            for call, folds in zip(self._calls, self._of_call, strict=True)
        ]

    def forget(self, numbers: np.ndarray, store: Store) -> None:
        """Forget the values of groups that nothing will change."""
        for i in self._counted:
            ValueTable(store, f"values{i}", self._types[i]).forget(numbers)

    def _changes(self, i: int, events: Events, layout: Layout, numbers: np.ndarray, store: Store) -> Changes:
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
    """A fold, the place of its argument, and the columns of its state."""

    def __init__(self, key: FoldKey, argument: int, number: int) -> None:
        self.argument = argument
        self._fold = key.fold()
        self.fields = [pa.field(f"f{number}_{j}", type_) for j, type_ in enumerate(self._fold.state)]
        self._names = [field.name for field in self.fields]
        # Extremes look at all values anyway; other folds over distinct values get each once.
        self._distinct = key.argument.distinct and key.kind not in ("min", "max")

    def advance(self, changes: Changes, found: Found) -> tuple[Any, Kept]:
        changes = changes.distinct() if self._distinct else changes
        return self._fold.advance(changes, found, self._names)


class Events:
    """Events in the order of their places; `order` is that of the batch that has them."""

    def __init__(
        self,
        places: np.ndarray,
        reached: np.ndarray,
        weights: np.ndarray,
        batch: pa.RecordBatch | None,
        order: np.ndarray,
    ) -> None:
        self.places = places
        self.reached = reached
        self.weights = weights
        self._batch = batch
        self._order = order

    def column(self, name: str, type_: pa.DataType) -> pa.Array:
        return pa.nulls(0, type_) if self._batch is None else self._batch[name].take(pa.array(self._order))
