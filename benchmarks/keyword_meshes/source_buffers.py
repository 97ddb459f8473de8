"""Source operators: the live tuples of every node of the expanded schema, with an index of their values.

Cites: SKWS 3.3
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.keyword_meshes.search_arrivals import NO_VALUE, SearchArrivals, condition_sides
from seine.algebra.arrays import BoolArray, IntArray
from seine.keyword_networks.expanded_schema import ExpandedSchema
from seine.rows.grouping import ranges


@dataclass(frozen=True)
class PlaceIndex:
    """Tuples by *place*, which is a side of a condition and a value; sorted by place."""

    keys: IntArray
    numbers: IntArray
    ends: IntArray

    def partners(self, wanted: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Pairs (position in `wanted`, number of a tuple at that place), in pieces of bounded size."""
        low, high = (np.searchsorted(self.keys, wanted, side) for side in ("left", "right"))
        for position, place in ranges(low, high):
            yield position, self.numbers[place]

    def with_places(self, more: PlaceIndex) -> PlaceIndex:
        """Both, in order."""
        mine, other = (self.keys, self.numbers, self.ends), (more.keys, more.numbers, more.ends)
        keys, numbers, ends = (np.concatenate(both) for both in zip(mine, other, strict=True))
        order = np.argsort(keys, kind="stable")  # two sorted runs: merged
        return PlaceIndex(keys[order], numbers[order], ends[order])

    def alive(self, low: int) -> PlaceIndex:
        """The places of tuples that live at `low` or later."""
        kept = self.ends > low
        return PlaceIndex(self.keys[kept], self.numbers[kept], self.ends[kept])


class SourceBuffers:
    """All live tuples, in the order of arrival, each with the step in which it came (`since`).

    A condition is searched from one side: the partners of a tuple are at the other side's place of its value.
    Of a condition of a stream with itself both sides are tried; a pair that fits both ways counts once.
    """

    def __init__(self, schema: ExpandedSchema) -> None:
        self._schema = schema
        self._sides = condition_sides(schema.schema)
        ends = np.array(schema.schema.conditions, np.int64).reshape(-1, 2)
        self._with_itself: BoolArray = ends[:, 0] == ends[:, 1]
        none = np.empty(0, np.int64)
        self.tuples = SearchArrivals(
            none, none, none, none, none, np.empty((0, self._sides.shape[1]), np.int64)
        )
        self.since = none
        self.all_places = self.new_places = PlaceIndex(none, none, none)

    def append(self, arrivals: SearchArrivals, step: int) -> None:
        """Tuples arrive; `new_places` are theirs alone."""
        old = self.tuples
        columns = ("number", "stream", "held", "start", "end", "values")
        joined = (np.concatenate([getattr(old, name), getattr(arrivals, name)]) for name in columns)
        self.tuples = SearchArrivals(*joined)
        self.since = np.concatenate([self.since, np.full(len(arrivals), step)])
        self.new_places = self._places(arrivals)
        self.all_places = self.all_places.with_places(self.new_places)

    def purge(self, low: int) -> None:
        """Forget the tuples that ended by `low`; no later tuple starts before it."""
        kept = self.tuples.end > low
        self.tuples, self.since = self.tuples.rows(kept), self.since[kept]
        self.all_places = self.all_places.alive(low)

    def nodes(self) -> IntArray:
        """The node of the expanded schema that each tuple belongs to."""
        nodes: IntArray = self._schema.node_of[self.tuples.stream, self.tuples.held]
        return nodes

    def counts(self) -> IntArray:
        """How many live tuples each node has."""
        return np.bincount(self.nodes(), minlength=self._schema.nodes)

    def slots(self, numbers: IntArray) -> IntArray:
        """Where live tuples are."""
        return np.searchsorted(self.tuples.number, numbers)

    def matches(self, slots: IntArray, places: PlaceIndex) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """For tuples at these slots: (position in `slots`, condition, slot of a tuple that meets it)."""
        sides, values = self._sides[self.tuples.stream[slots]], self.tuples.values[slots]
        position, column = np.nonzero((sides >= 0) & (values != NO_VALUE))
        side = sides[position, column]
        wanted = self._key(side ^ 1, values[position, column])
        for chosen, numbers in places.partners(wanted):
            mine, partner, by = position[chosen], self.slots(numbers), side[chosen]
            once = self._counts_here(slots[mine], partner, by)
            yield mine[once], by[once] >> 1, partner[once]

    def _counts_here(self, mine: IntArray, partner: IntArray, side: IntArray) -> BoolArray:
        """Not itself; and of a pair that fits a condition both ways, the first way alone."""
        fine: BoolArray = np.not_equal(mine, partner)
        doubtful = np.flatnonzero(self._with_itself[side >> 1] & (side & 1 > 0))
        if len(doubtful):
            first = self._value(mine[doubtful], side[doubtful] ^ 1)
            second = self._value(partner[doubtful], side[doubtful])
            fine[doubtful[(first == second) & (first != NO_VALUE)]] = False
        return fine

    def _value(self, slots: IntArray, sides: IntArray) -> IntArray:
        column = (self._sides[self.tuples.stream[slots]] == sides[:, None]).argmax(1)
        values: IntArray = self.tuples.values[slots, column]
        return values

    def _places(self, arrivals: SearchArrivals) -> PlaceIndex:
        sides = self._sides[arrivals.stream]
        position, column = np.nonzero((sides >= 0) & (arrivals.values != NO_VALUE))
        keys = self._key(sides[position, column], arrivals.values[position, column])
        order = np.argsort(keys, kind="stable")
        position = position[order]
        return PlaceIndex(keys[order], arrivals.number[position], arrivals.end[position])

    def _key(self, sides: IntArray, values: IntArray) -> IntArray:
        return values * (2 * len(self._with_itself)) + sides
