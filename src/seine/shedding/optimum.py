"""The offline optimum of two streams: the largest total importance that any shedding policy can reach.

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

from seine.algebra.arrays import FloatArray, IntArray
from seine.shedding.best_stays import TupleGains, best_stays
from seine.shedding.exact import ExactResults


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
