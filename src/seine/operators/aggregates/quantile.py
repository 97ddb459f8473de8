"""Exact quantiles of a multiset that grows and shrinks: MEDIAN, PERCENTILE, APPROX_PERCENTILE.

    SELECT k, MEDIAN(x), PERCENTILE(x, 0.9) FROM s GROUP BY k

Law: at every place the quantile of the values alive there. Of n values in order, the one at position
p (n - 1), from 0, is interpolated between its two neighbours, as in Spark; a discrete one is the least value
that at least p n of the values do not exceed.

All places are answered at once: the items of a step (`value_ranks.py`), in the order of their places, are a
wavelet matrix over the ranks of their values. Bit by bit, from the highest, a query counts the weight of the
items up to its place whose next bit is 0, and goes there or, with what is left of its target, to the others.

All values of a group are needed. A step costs the distinct values of the groups that it touches, times the
logarithm of their number.

Cites: ARGUS 3 (holistic functions)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.aggregates.fold import Changes, FoldState
from seine.operators.aggregates.value_ranks import ValueItems
from seine.operators.state.keyed_table import KeyedMatches

ValuesAt = Callable[[IntArray], pa.Array]


def weighted_select(ranks: IntArray, weights: IntArray, upto: IntArray, target: IntArray) -> IntArray:
    """For each query the rank of the target-th unit of weight, from 1, among the first `upto` items.

    >>> ranks, weights = np.array([3, 0, 3]), np.array([2, 1, -1])
    >>> weighted_select(ranks, weights, np.array([2, 2, 3]), np.array([1, 3, 2])).tolist()
    [0, 3, 3]
    """
    low, high, selected = np.zeros_like(upto), upto.copy(), np.zeros_like(upto)
    for bit in reversed(range(int(ranks.max(initial=0)).bit_length())):
        zero = (ranks >> bit) & 1 == 0
        zeros = np.append(0, np.cumsum(zero))
        lighter = np.append(0, np.cumsum(np.where(zero, weights, 0)))
        left = lighter.take(high) - lighter.take(low)
        goes_right = target > left
        target = np.where(goes_right, target - left, target)
        low = np.where(goes_right, zeros[-1] + low - zeros.take(low), zeros.take(low))
        high = np.where(goes_right, zeros[-1] + high - zeros.take(high), zeros.take(high))
        selected |= goes_right.astype(np.int64) << bit
        order = np.concatenate([np.flatnonzero(zero), np.flatnonzero(~zero)])
        ranks, weights = ranks.take(order), weights.take(order)
    return selected


class Quantile:
    """Keeps nothing of its own: the multiset of values is kept by group (`value_counts.py`)."""

    state: tuple[pa.DataType, ...] = ()
    parts: tuple[pa.DataType, ...] = ()

    def __init__(self, fraction: float, discrete: bool) -> None:
        self._fraction = fraction
        self._discrete = discrete

    def advance(
        self, changes: Changes, stored: KeyedMatches, names: Sequence[str]
    ) -> tuple[pa.Array, FoldState]:
        step, layout = changes.counted, changes.layout
        assert step is not None
        items = ValueItems.of(layout, step)
        # Groups come one after the other, so the items before a group's are all of smaller groups.
        codes = items.group * (len(items.places_of) + 1) + items.rank
        unique, ranks = np.unique(codes, return_inverse=True)
        upto = np.searchsorted(items.place, np.arange(layout.size), side="right")
        totals = np.append(0, np.cumsum(items.weight))
        before = totals.take(np.searchsorted(items.place, layout.first)).take(layout.group)
        count = totals.take(upto) - before
        known = count > 0
        rows = np.flatnonzero(known)

        def values_at(positions: IntArray) -> pa.Array:
            """The values at positions, from 0, in the order of the values of each place."""
            selected = weighted_select(ranks, items.weight, upto[rows], before[rows] + positions + 1)
            return items.values(unique.take(selected) % (len(items.places_of) + 1))

        quantiles = (self._least if self._discrete else self._between)(count[rows], values_at)
        return quantiles.take(pa.array(np.maximum(np.cumsum(known) - 1, 0), mask=~known)), []

    def part(self, changes: Changes, value: pa.Array, start: pa.Array | None) -> list[pa.Array]:
        """It has none: what the finer groups' quantiles are says nothing of the coarser one's."""
        return []

    def _least(self, count: IntArray, values_at: ValuesAt) -> pa.Array:
        """The least values that at least this fraction of the values do not exceed."""
        return values_at(np.maximum(np.ceil(count * self._fraction).astype(np.int64) - 1, 0))

    def _between(self, count: IntArray, values_at: ValuesAt) -> pa.Array:
        """Interpolated, in Spark's words: where neighbours are equal, or hit exactly, nothing is computed."""
        position = (count - 1) * self._fraction
        floor, ceiling = np.floor(position), np.ceil(position)
        lower, higher = (values_at(at.astype(np.int64)).to_numpy() for at in (floor, ceiling))
        with np.errstate(all="ignore"):
            between = (ceiling - position) * lower + (position - floor) * higher
        same = (floor == ceiling) | (lower == higher) | (np.isnan(lower) & np.isnan(higher))
        return pa.array(np.where(same, lower, between))
