"""Everything that a join of two streams would report, had it memory for all: what policies aim at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seine.algebra.arrays import IntArray
from seine.shedding.arrivals import FOREVER, Arrivals, Evictions, Floats, Ints

COMBINATIONS = {"min": np.minimum, "sum": np.add, "product": np.multiply}


@dataclass(frozen=True)
class Exact:
    """Results of two streams: the places of the two tuples, their timestamps, and the result's importance."""

    left: Ints
    right: Ints
    left_ts: Ints
    right_ts: Ints
    importance: Floats

    def total(self) -> float:
        return float(self.importance.sum())

    def reported(self, left_until: Ints, right_until: Ints) -> IntArray:
        """Which results remain when each tuple resides in [ts, until): the older must still be there."""
        older_left = (self.left_ts < self.right_ts) & (left_until[self.left] > self.right_ts)
        older_right = (self.right_ts < self.left_ts) & (right_until[self.right] > self.left_ts)
        return older_left | older_right | (self.left_ts == self.right_ts)


def exact_results(left: Arrivals, right: Arrivals, combine: str = "min") -> Exact:
    """All pairs whose lives overlap, once for each token that both carry.

    >>> ints = lambda *values: np.array(values, np.int64)
    >>> r = Arrivals.keyed(ints(0, 1), ints(0, 9), ints(4, 13), ints(7, 7), np.array([3.0, 4.0]))
    >>> s = Arrivals.keyed(ints(0, 1), ints(2, 3), ints(9, 13), ints(7, 8), np.array([2.0, 2.0]))
    >>> exact = exact_results(r, s)
    >>> exact.left.tolist(), exact.right.tolist(), exact.importance.tolist()
    ([0], [0], [2.0])
    """
    owners = [np.repeat(np.arange(len(some)), np.diff(some.offsets)) for some in (left, right)]
    tokens = [some.tokens[some.offsets[0] : some.offsets[-1]] for some in (left, right)]
    order = np.lexsort((right.ts[owners[1]], tokens[1]))
    low = _places(left, right, owners, tokens, order, _longest(right))
    rows, candidates = _expand(*low)
    ours, theirs = owners[0][rows], owners[1][order][candidates]
    alive = (left.ts[ours] < right.expiry[theirs]) & (right.ts[theirs] < left.expiry[ours])
    ours, theirs = ours[alive], theirs[alive]
    importance = COMBINATIONS[combine](left.importance[ours], right.importance[theirs])
    return Exact(ours, theirs, left.ts[ours], right.ts[theirs], importance)


def residence(arrivals: Arrivals, evictions: Evictions) -> Ints:
    """Until when each tuple resides in its window, if memory pushed out the evicted ones; by place."""
    until = np.full(len(arrivals), FOREVER, np.int64)
    until[np.searchsorted(arrivals.number, evictions.number)] = evictions.at
    return until


def _longest(arrivals: Arrivals) -> int:
    lives = arrivals.expiry - arrivals.ts
    return int(lives.max()) if len(lives) else 0


def _places(
    left: Arrivals,
    right: Arrivals,
    owners: list[IntArray],
    tokens: list[Ints],
    order: IntArray,
    longest: int,
) -> tuple[IntArray, IntArray]:
    """For each token of a left tuple the range of right ones, by token and timestamp, that may meet it."""
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
