"""What an aggregate keeps for each group, and how the changes of a step run through it."""

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

ROWS = "_n"
Kept: TypeAlias = list[IntArray | pa.Array]


@dataclass(frozen=True)
class Changes:
    """The values of one argument that come and go: ascending places, weights, values without NULL.

    `reached` is the layout's of these places; `counted` are the same changes as values that appear
    and vanish, where an aggregate asks for them. With `summed`, the values are what a fold's `part`
    told of finer groups, not an argument's.
    """

    layout: ChangeLayout
    places: IntArray
    reached: IntArray
    weights: IntArray
    values: list[pa.Array]
    counted: ValueStep | None = None
    summed: bool = False

    def running(self, weights: IntArray, start: IntArray) -> IntArray:
        """The running sum of one weight for each change, along the places of each group."""
        return self.layout.running(self.reached, weights, start)

    def sums(self, weights: IntArray) -> IntArray:
        """The sum, at each place, of one weight for each change."""
        return self.layout.sums(self.reached, weights)

    def within(self, excerpt: Excerpt) -> Changes:
        """Those in some of the groups, as values alone."""
        if len(excerpt.places) == self.layout.size:
            return self
        places = np.full(self.layout.size, -1)
        places[excerpt.places] = np.arange(len(excerpt.places))
        kept = (places.take(self.places) >= 0).nonzero()[0]
        inside = places.take(self.places.take(kept))
        values = [array.take(pa.array(kept)) for array in self.values]
        reached = excerpt.layout.reached(inside)
        weights = self.weights.take(kept)
        return Changes(excerpt.layout, inside, reached, weights, values, summed=self.summed)

    def distinct(self) -> Changes:
        """Each value once: it comes when it appears and goes when it vanishes."""
        step = self.counted
        assert step is not None
        values = [array.take(pa.array(step.moved)) for array in step.values]
        reached = self.layout.reached(step.moved_at)
        return Changes(self.layout, step.moved_at, reached, step.moved_by, values)


class Fold(Protocol):
    """One kind of state: `advance` gives what it is at every place, and what to keep of each group.

    What was kept is in the columns of `found` that are named; its column ROWS says how many rows were
    alive. What it is at every place has a method `take`, that picks some places.

    Law: of the groups that make up a coarser one, `part` tells what the coarser one's fold needs to
    advance, by changes that are `summed`, as if it had seen the rows themselves.
    """

    state: tuple[pa.DataType, ...]
    parts: tuple[pa.DataType, ...]

    def advance(self, changes: Changes, found: KeyedMatches, names: Sequence[str]) -> tuple[Any, Kept]: ...

    def part(self, changes: Changes, value: Any, start: pa.Array | None) -> list[pa.Array]:
        """What changes at each place; an extreme needs its value there, and what it was before."""
        ...
