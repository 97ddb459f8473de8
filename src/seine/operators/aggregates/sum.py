"""Exact retractable SUM: the result depends on the multiset of live values alone.

Law: no order of additions shows, and a value that has left leaves no trace, for doubles too.

Sums are 64-bit integers as long as they are certain to fit, and else arbitrary-precision integers (limbs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.aggregates.fold import Changes, FoldState
from seine.operators.aggregates.limbs import Limbs, Piece, from_lists, limbs_of, to_lists
from seine.operators.state.keyed_table import KeyedMatches
from seine.rows.column_arrays import as_arrow

_LISTS = pa.list_(pa.int64())


class WideSums(NamedTuple):
    """Sums at all places: sign and magnitude, and how many NaN, +infinity and -infinity are summed."""

    sign: IntArray
    size: Limbs
    nan: IntArray
    up: IntArray
    down: IntArray

    @property
    def places(self) -> int:
        return len(self.sign)

    def take(self, places: IntArray) -> WideSums:
        odd = (counts[places] for counts in (self.nan, self.up, self.down))
        return WideSums(self.sign[places], self.size.take(places), *odd)


class NarrowSums(NamedTuple):
    """Sums at all places that are 64-bit integers."""

    numbers: IntArray

    @property
    def places(self) -> int:
        return len(self.numbers)

    def take(self, places: IntArray) -> NarrowSums:
        return NarrowSums(self.numbers[places])

    def total(self) -> WideSums:
        """The sums as limbs."""
        nothing = np.zeros(len(self.numbers), np.int64)
        return WideSums(*Limbs(limbs_of(self.numbers), 0).normal(), nothing, nothing, nothing)


class SumOfDoubles:
    """The accumulator is an exact fixed-point number, and counts of NaN, +infinity and -infinity."""

    state: tuple[pa.DataType, ...] = (_LISTS, pa.int64(), pa.int64(), pa.int64())
    parts = state

    def __init__(self, split: Callable[..., Iterator[Piece]], arguments: int = 1) -> None:
        self._split = split
        self._arguments = arguments  # the last so many columns are what it is of

    def advance(
        self, changes: Changes, stored: KeyedMatches, names: Sequence[str]
    ) -> tuple[WideSums, FoldState]:
        sign, size = _run(changes, self._amounts(changes), from_lists(stored.column(names[0]))).normal()
        odd = [
            changes.running(amounts, stored.numbers(name))
            for amounts, name in zip(self._odd(changes), names[1:], strict=True)
        ]
        last = changes.layout.last
        kept: FoldState = [to_lists(sign[last], size.take(last)), *(counts[last] for counts in odd)]
        return WideSums(sign, size, *odd), kept

    def part(self, changes: Changes, value: Any, start: pa.Array | None) -> list[pa.Array]:
        sums = to_lists(*_summed(changes, self._amounts(changes)).normal())
        return [sums, *(pa.array(changes.sums(amounts)) for amounts in self._odd(changes))]

    def _amounts(self, changes: Changes) -> Limbs:
        if changes.are_partials:
            return from_lists(changes.values[0])
        return _weighted(self._split(*changes.values[-self._arguments :]), changes.weights)

    def _odd(self, changes: Changes) -> list[IntArray]:
        if changes.are_partials:
            return [counts.to_numpy() for counts in changes.values[1:]]
        first, *others = (values.to_numpy() for values in changes.values[-self._arguments :])
        numbers = np.where(
            np.logical_and.reduce([np.isfinite(one) for one in others], initial=True), first, np.nan
        )
        flags = [np.isnan(numbers), np.isposinf(numbers), np.isneginf(numbers)]
        return [flag * changes.weights for flag in flags]


class SumOfWholes:
    """The accumulator is a 64-bit integer, or a list of limbs where that is not enough.

    `whole` gives values as 64-bit integers, None if a value does not fit.
    """

    state: tuple[pa.DataType, ...] = (pa.int64(), _LISTS)
    parts = state

    def __init__(
        self,
        split: Callable[[pa.Array], Iterator[Piece]],
        whole: Callable[[pa.Array], IntArray | None],
    ) -> None:
        self._split = split
        self._whole = whole

    def advance(
        self, changes: Changes, stored: KeyedMatches, names: Sequence[str]
    ) -> tuple[NarrowSums | WideSums, FoldState]:
        start, wide = stored.numbers(names[0]), stored.column(names[1])
        last = changes.layout.last
        if wide.null_count == len(wide):
            numbers = self._small(changes, _largest(start))
            if numbers is not None:
                sums = changes.running(numbers, start)
                return NarrowSums(sums), [sums[last], wide]
        sign, size = _run(changes, self._amounts(changes), _widened(start, wide)).normal()
        nothing = np.zeros(changes.layout.size, np.int64)
        return WideSums(sign, size, nothing, nothing, nothing), _narrowed(sign[last], size.take(last))

    def part(self, changes: Changes, value: Any, start: pa.Array | None) -> list[pa.Array]:
        numbers = self._small(changes, 0)
        if numbers is not None:
            return [pa.array(changes.sums(numbers)), pa.nulls(changes.layout.size, _LISTS)]
        narrow, wide = _narrowed(*_summed(changes, self._amounts(changes)).normal())
        return [pa.array(narrow), as_arrow(wide)]

    def _small(self, changes: Changes, start: int) -> IntArray | None:
        """The amount of each change; None unless the sum of any of them, on `start`, fits 64 bits."""
        sizes: IntArray | None
        weights: IntArray | None
        if changes.are_partials:
            numbers, wide = changes.values
            sizes, weights = numbers.to_numpy(), None
            if wide.null_count < len(wide):
                return None
        else:
            sizes, weights = self._whole(changes.values[-1]), changes.weights
        if sizes is None:
            return None
        times = len(sizes) if weights is None else int(np.abs(weights).sum())
        if start + _largest(sizes) * times >= 2**63:
            return None
        amounts: IntArray = sizes if weights is None else sizes * weights
        return amounts

    def _amounts(self, changes: Changes) -> Limbs:
        if changes.are_partials:
            numbers, wide = changes.values
            return _widened(numbers.to_numpy(), wide)
        return _weighted(self._split(changes.values[-1]), changes.weights)


def _largest(numbers: IntArray) -> int:
    return max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))


def _widened(numbers: IntArray, wide: pa.Array) -> Limbs:
    """Stored sums as limbs; each is a 64-bit integer or a list."""
    return from_lists(wide).minus(Limbs(-limbs_of(numbers), 0))


def _narrowed(sign: IntArray, size: Limbs) -> FoldState:
    """Sums as they are stored: limbs only of those whose magnitude needs more than 63 bits."""
    low, high, fits = size.to_words()
    fits = fits & (high == 0) & (low < np.uint64(2**63))
    lists = to_lists(sign, size)
    kept = pa.ListArray.from_arrays(lists.offsets, lists.values, mask=pa.array(fits))
    return [np.where(fits, low.view(np.int64) * sign, 0), kept]


def _weighted(pieces: Iterator[Piece], weights: IntArray) -> Limbs:
    """What each change adds: its value times its weight, one number for each change."""
    known = [(place, amount) for place, amount in pieces if len(place)]
    if not known:
        return Limbs(np.zeros((1, len(weights)), np.int64), 0)
    low = min(int(place.min()) for place, _ in known)
    high = max(int(place.max()) for place, _ in known)
    matrix = np.zeros((high - low + 1, len(weights)), np.int64)
    columns = np.arange(len(weights))
    for place, amount in known:
        matrix[place - low, columns] += amount * weights
    return Limbs(matrix, low)


def _run(changes: Changes, amounts: Limbs, start: Limbs) -> Limbs:
    """The prefix sums of amounts along the places of each group, beginning with `start`."""
    low = min(start.low, amounts.low)
    high = max(start.low + len(start.matrix), amounts.low + len(amounts.matrix))
    none, nothing = np.zeros(start.count, np.int64), np.zeros(amounts.count, np.int64)
    matrix = np.zeros((high - low, changes.layout.size), np.int64)
    for j in range(high - low):
        base, more = start.row(j + low), amounts.row(j + low)
        matrix[j] = changes.running(nothing if more is None else more, none if base is None else base)
    return Limbs(matrix, low)


def _summed(changes: Changes, amounts: Limbs) -> Limbs:
    """The sum of the amounts at each place."""
    return Limbs(np.stack([changes.sums(row) for row in amounts.matrix]), amounts.low)
