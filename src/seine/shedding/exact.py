"""The exact results of a window join of two streams, as with unlimited memory: what policies aim at.

The offline optimum of two streams: the largest total importance that any shedding policy can reach.

A result is made by the younger tuple probing the window of the older one, so what the left window holds never
matters for the right one: the problem decomposes into one for each window (`best_stays.py`), and results of
two tuples of the same instant are always made.

Cites: STAR 3.1
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import fsum

import numpy as np

from seine.algebra.arrays import BoolArray, FloatArray, IntArray
from seine.shedding.arrivals import FOREVER, Arrivals, Evictions
from seine.shedding.best_stays import TupleGains, best_stays

COMBINATIONS = {"min": np.minimum, "sum": np.add, "product": np.multiply}


@dataclass(frozen=True)
class ExactResults:
    """Results: the places of the two tuples in their streams, their timestamps, and their importance."""

    left: IntArray
    right: IntArray
    left_ts: IntArray
    right_ts: IntArray
    importance: FloatArray

    def total(self) -> float:
        """The importance of all results."""
        return float(self.importance.sum())

    def reported(self, left_until: IntArray, right_until: IntArray) -> BoolArray:
        """Which results remain when each tuple resides in [ts, until): the older one must still reside."""
        older_left = (self.left_ts < self.right_ts) & (left_until[self.left] > self.right_ts)
        older_right = (self.right_ts < self.left_ts) & (right_until[self.right] > self.left_ts)
        kept: BoolArray = older_left | older_right | (self.left_ts == self.right_ts)
        return kept


def exact_results(left: Arrivals, right: Arrivals, combine: str = "min") -> ExactResults:
    """All pairs whose lifetimes overlap, once for each token that they have in common.

    >>> ints = lambda *values: np.array(values, np.int64)
    >>> r = Arrivals.keyed(ints(0, 1), ints(0, 9), ints(4, 13), ints(7, 7), np.array([3.0, 4.0]))
    >>> s = Arrivals.keyed(ints(0, 1), ints(2, 3), ints(9, 13), ints(7, 8), np.array([2.0, 2.0]))
    >>> exact = exact_results(r, s)
    >>> exact.left.tolist(), exact.right.tolist(), exact.importance.tolist()
    ([0], [0], [2.0])
    """
    owners = [np.repeat(np.arange(len(side)), np.diff(side.offsets)) for side in (left, right)]
    tokens = [side.tokens[side.offsets[0] : side.offsets[-1]] for side in (left, right)]
    order = np.lexsort((right.ts[owners[1]], tokens[1]))
    candidates = _candidate_ranges(left, right, owners, tokens, order, _longest(right))
    rows, places = _expand(*candidates)
    lefts, rights = owners[0][rows], owners[1][order][places]
    alive = (left.ts[lefts] < right.expiry[rights]) & (right.ts[rights] < left.expiry[lefts])
    lefts, rights = lefts[alive], rights[alive]
    importance = COMBINATIONS[combine](left.importance[lefts], right.importance[rights])
    return ExactResults(lefts, rights, left.ts[lefts], right.ts[rights], importance)


def residence(arrivals: Arrivals, evictions: Evictions) -> IntArray:
    """Until when each tuple resides in its window, given the evictions; FOREVER if it was not evicted."""
    until = np.full(len(arrivals), FOREVER, np.int64)
    until[np.searchsorted(arrivals.number, evictions.number)] = evictions.at
    return until


def _longest(arrivals: Arrivals) -> int:
    """The longest lifetime."""
    lives = arrivals.expiry - arrivals.ts
    return int(lives.max()) if len(lives) else 0


def _candidate_ranges(
    left: Arrivals,
    right: Arrivals,
    owners: list[IntArray],
    tokens: list[IntArray],
    order: IntArray,
    longest: int,
) -> tuple[IntArray, IntArray]:
    """For each token of a left tuple the range, in `order`, of right tuples with it that may be alive."""
    kinds, numbers = np.unique(tokens[1], return_inverse=True)
    times, instants = np.unique(right.ts, return_inverse=True)
    width = len(times) + 1
    key = (numbers * width + instants[owners[1]])[order]
    kind = np.searchsorted(kinds, tokens[0])
    known = kind < len(kinds)
    known[known] = kinds[kind[known]] == tokens[0][known]
    begin = np.searchsorted(times, left.ts - min(longest, FOREVER // 4), "right")[owners[0]]
    end = np.searchsorted(times, left.expiry)[owners[0]]
    low = np.searchsorted(key, kind * width + begin)
    high = np.searchsorted(key, kind * width + end)
    return np.where(known, low, 0), np.where(known, high, 0)


def _expand(low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Each range [low, high) as pairs (number of the range, place in it)."""
    sizes = np.maximum(high - low, 0)
    rows = np.repeat(np.arange(len(low)), sizes)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rows, np.arange(len(rows)) - first + low[rows]


@dataclass(frozen=True)
class Optimum:
    """The best total importance, its number of results and, per window, until when each tuple is held.

    Tuple i of a window is held in [ts, until[i]); until[i] is its timestamp if it is never held.
    """

    importance: float
    outputs: int
    until: tuple[IntArray, IntArray]


def find_optimum(exact: ExactResults, starts: tuple[IntArray, IntArray], capacity: int) -> Optimum:
    """The optimum of two windows of this capacity each; `starts` are the timestamps of all tuples."""
    weights, _ = whole_weights(exact.importance)
    left = _best(exact.left, exact.left_ts, exact.right_ts, weights, starts[0], capacity)
    right = _best(exact.right, exact.right_ts, exact.left_ts, weights, starts[1], capacity)
    kept = exact.reported(left, right)
    return Optimum(fsum(exact.importance[kept].tolist()), int(kept.sum()), (left, right))


def _best(
    holder: IntArray, since: IntArray, instants: IntArray, weights: list[int], starts: IntArray, capacity: int
) -> IntArray:
    """Until when a window holds each of its tuples; a gain comes at the instant of the younger tuple."""
    gains: list[dict[int, int]] = [{} for _ in starts]
    older = np.flatnonzero(since < instants)
    for place, tuple_, instant in zip(
        older.tolist(), holder[older].tolist(), instants[older].tolist(), strict=True
    ):
        gains[tuple_][instant] = gains[tuple_].get(instant, 0) + weights[place]
    stays = [
        TupleGains(start, tuple(sorted((at, gain) for at, gain in by_instant.items() if gain)))
        for start, by_instant in zip(starts.tolist(), gains, strict=True)
    ]
    last = best_stays(stays, capacity)
    return np.array([s.start if at is None else at + 1 for s, at in zip(stays, last, strict=True)], np.int64)


def whole_weights(importance: FloatArray) -> tuple[list[int], Fraction]:
    """Importances as integers, and what 1 of them is: every float is a multiple of a power of two.

    >>> whole_weights(np.array([0.5, 3.0]))
    ([1, 6], Fraction(1, 2))
    """
    ratios = [value.as_integer_ratio() for value in importance.tolist()]
    common = max((below for _, below in ratios), default=1)
    return [above * (common // below) for above, below in ratios], Fraction(1, common)
