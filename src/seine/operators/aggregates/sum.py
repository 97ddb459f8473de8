"""SUM, exactly: no order of additions shows, and what has left leaves no trace.

Sums are numbers of 64 bits as long as it is certain that they fit, and else limbs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.operators.aggregates.fold import Changes, Kept
from seine.operators.aggregates.splits import Piece, limbs_of
from seine.operators.keyed import Found
from seine.operators.limbs import Limbs, from_lists, to_lists

_LISTS = pa.list_(pa.int64())


class Total(NamedTuple):
    """Sums at all places: sign, magnitude, and how many NaN, +infinity and -infinity are among the values."""

    sign: np.ndarray
    size: Limbs
    nan: np.ndarray
    up: np.ndarray
    down: np.ndarray

    @property
    def places(self) -> int:
        return len(self.sign)

    def take(self, places: np.ndarray) -> Total:
        odd = (counts[places] for counts in (self.nan, self.up, self.down))
        return Total(self.sign[places], self.size.take(places), *odd)


class Whole(NamedTuple):
    """Sums at all places that are numbers of 64 bits."""

    numbers: np.ndarray

    @property
    def places(self) -> int:
        return len(self.numbers)

    def take(self, places: np.ndarray) -> Whole:
        return Whole(self.numbers[places])

    def total(self) -> Total:
        nothing = np.zeros(len(self.numbers), np.int64)
        return Total(*Limbs(limbs_of(self.numbers), 0).normal(), nothing, nothing, nothing)


class SumOfDoubles:
    """Keeps an exact integer, and counts of what is not finite."""

    state: tuple[pa.DataType, ...] = (_LISTS, pa.int64(), pa.int64(), pa.int64())

    def __init__(self, split: Callable[[pa.Array], Iterator[Piece]]) -> None:
        self._split = split

    def advance(self, changes: Changes, found: Found, names: Sequence[str]) -> tuple[Total, Kept]:
        pieces = list(self._split(changes.values[-1]))
        sign, size = _run(changes, pieces, from_lists(found.column(names[0]))).normal()
        odd = self._odd(changes, [found.numbers(name) for name in names[1:]])
        last = changes.layout.last
        kept = [to_lists(sign[last], size.take(last)), *(counts[last] for counts in odd)]
        return Total(sign, size, *odd), kept

    def _odd(self, changes: Changes, start: list[np.ndarray]) -> list[np.ndarray]:
        numbers = changes.values[-1].to_numpy()
        flags = [np.isnan(numbers), np.isposinf(numbers), np.isneginf(numbers)]
        return [
            changes.running(flag * changes.weights, base) for flag, base in zip(flags, start, strict=True)
        ]


class SumOfWholes:
    """Keeps a number of 64 bits, or a list of limbs where that is not enough.

    `whole` gives values as numbers of 64 bits, None if some are larger.
    """

    state: tuple[pa.DataType, ...] = (pa.int64(), _LISTS)

    def __init__(
        self,
        split: Callable[[pa.Array], Iterator[Piece]],
        whole: Callable[[pa.Array], np.ndarray | None],
    ) -> None:
        self._split = split
        self._whole = whole

    def advance(self, changes: Changes, found: Found, names: Sequence[str]) -> tuple[Whole | Total, Kept]:
        start, wide = found.numbers(names[0]), found.column(names[1])
        last, values = changes.layout.last, changes.values[-1]
        if wide.null_count == len(wide):
            numbers = self._whole(values)
            if numbers is not None and _fits(start, numbers):
                sums = changes.running(numbers * changes.weights, start)
                return Whole(sums), [sums[last], wide]
        limbs = from_lists(wide).minus(Limbs(-limbs_of(start), 0))
        sign, size = _run(changes, list(self._split(values)), limbs).normal()
        nothing = np.zeros(changes.layout.size, np.int64)
        return Total(sign, size, nothing, nothing, nothing), _narrowed(sign[last], size.take(last))


def _fits(start: np.ndarray, values: np.ndarray) -> bool:
    """Do all sums fit 64 bits, whichever of the values come together?"""
    return _largest(start) + _largest(values) * len(values) < 2**63


def _largest(numbers: np.ndarray) -> int:
    return max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))


def _narrowed(sign: np.ndarray, size: Limbs) -> Kept:
    """Limbs only of sums whose magnitude needs more than 63 bits."""
    low, high, fits = size.to_words()
    fits = fits & (high == 0) & (low < np.uint64(2**63))
    lists = to_lists(sign, size)
    kept = pa.ListArray.from_arrays(lists.offsets, lists.values, mask=pa.array(fits))
    return [np.where(fits, low.view(np.int64) * sign, 0), kept]


def _run(changes: Changes, pieces: list[Piece], start: Limbs) -> Limbs:
    """The running sums of all pieces."""
    low = min([start.low, *(int(p.min()) for p, _ in pieces if len(p))])
    high = max([start.low + len(start.matrix) - 1, *(int(p.max()) for p, _ in pieces if len(p))])
    deltas = np.zeros((high - low + 1, len(changes.places)), np.int64)
    columns = np.arange(len(changes.places))
    for place, amount in pieces:
        deltas[place - low, columns] += amount * changes.weights
    matrix = np.zeros((len(deltas), changes.layout.size), np.int64)
    for j, delta in enumerate(deltas):
        inside = 0 <= j + low - start.low < len(start.matrix)
        base = start.matrix[j + low - start.low] if inside else np.zeros(start.count, np.int64)
        matrix[j] = changes.running(delta, base)
    return Limbs(matrix, low)
