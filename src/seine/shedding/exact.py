"""The exact results of a window join of two streams, as with unlimited memory: what policies aim at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seine.algebra.arrays import BoolArray, FloatArray, IntArray
from seine.shedding.arrivals import FOREVER, Arrivals, Evictions

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
