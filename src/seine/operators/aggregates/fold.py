"""The interface of a retractable, vectorised accumulator, and the changes that it is advanced by.

A fold is what Flink calls an accumulator with accumulate and retract, and DataFusion a groups accumulator: it
keeps a few columns for each group and is advanced for all groups of a step at once.

    stored state of groups ─┐
                            ├─> advance ─> value at every place (group, instant) of the step
    changes of the step ────┘          └─> state to store of each group
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.aggregates.value_counts import ValueStep
from seine.operators.state.change_layout import ChangeLayout, Excerpt
from seine.operators.state.keyed_table import KeyedMatches

ROWS = "_n"  # the column of stored groups with the number of live rows
FoldState: TypeAlias = list[IntArray | pa.Array]


@dataclass(frozen=True)
class Changes:
    """The changes of one argument in a step: ascending places, weights (+1, -1), values without NULL.

    `reached` is `layout.reached(places)`. `counted` are the same changes as distinct values that appear and
    vanish, where an aggregate needs them. If they `are_partials`, the values are partial aggregates of finer
    groups, made by the fold's `part`, and not values of the argument.
    """

    layout: ChangeLayout
    places: IntArray
    reached: IntArray
    weights: IntArray
    values: list[pa.Array]
    counted: ValueStep | None = None
    are_partials: bool = False

    def running(self, weights: IntArray, start: IntArray) -> IntArray:
        """The prefix sum of one weight for each change, along the places of each group."""
        return self.layout.running(self.reached, weights, start)

    def sums(self, weights: IntArray) -> IntArray:
        """The sum, at each place, of one weight for each change."""
        return self.layout.sums(self.reached, weights)

    def within(self, excerpt: Excerpt) -> Changes:
        """The changes of a selection of groups, without `counted`."""
        if len(excerpt.places) == self.layout.size:
            return self
        places = np.full(self.layout.size, -1)
        places[excerpt.places] = np.arange(len(excerpt.places))
        kept = (places.take(self.places) >= 0).nonzero()[0]
        inside = places.take(self.places.take(kept))
        values = [array.take(pa.array(kept)) for array in self.values]
        reached = excerpt.layout.reached(inside)
        weights = self.weights.take(kept)
        return Changes(excerpt.layout, inside, reached, weights, values, are_partials=self.are_partials)

    def distinct(self) -> Changes:
        """The changes of the set of distinct values: +1 when one appears, -1 when it vanishes."""
        step = self.counted
        assert step is not None
        values = [array.take(pa.array(step.moved)) for array in step.values]
        reached = self.layout.reached(step.moved_at)
        return Changes(self.layout, step.moved_at, reached, step.moved_by, values)


class Fold(Protocol):
    """One kind of accumulator; `state` and `parts` are the types of its stored and of its partial columns.

    `advance` gives its value at every place, and the state to store of each group. The state before the step
    is in the named columns of `stored`; its column ROWS has the number of live rows. The value at every
    place has a method `take`, which selects places.

    Law (algebraic aggregates): given the parts of the finer groups that make up a coarser one, as changes
    that `are_partials`, the coarser group's fold advances as if it had been given the rows themselves.
    """

    state: tuple[pa.DataType, ...]
    parts: tuple[pa.DataType, ...]

    def advance(
        self, changes: Changes, stored: KeyedMatches, names: Sequence[str]
    ) -> tuple[Any, FoldState]: ...

    def part(self, changes: Changes, value: Any, start: pa.Array | None) -> list[pa.Array]:
        """The partial aggregate of each place; an extreme needs its value there, and that before the step."""
        ...
