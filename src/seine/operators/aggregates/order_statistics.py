"""Quantiles and MODE of a multiset that grows and shrinks, exact: what needs all live values of a group.

    SELECT k, MEDIAN(x), PERCENTILE(x, 0.9), MODE(x) FROM s GROUP BY k

Law: at every place the quantile, or the most frequent, of the values alive there. Of n values in order, the
quantile at position p (n - 1), from 0, is interpolated between its two neighbours, as in Spark; a discrete
one is the least value that at least p n of the values do not exceed. Of several that are as frequent, MODE is
the least.

The multiset of a group along the places of a step is a list of weighted items. Values that the step does not
touch are items of the group's first place; those that it touches are, too, with the count that they had, and
then one item for each change of it.

    group of values 3 3 7        item   value  place  weight
    at place 1 a 3 leaves               3      0      2
    at place 2 a 9 comes                7      0      1
                                        3      1      -1
                                        9      2      1

All places are answered at once: the items, in the order of their places, are a wavelet matrix over the ranks
of their values. Bit by bit, from the highest, a query counts the weight of the items up to its place whose
next bit is 0, and goes there or, with what is left of its target, to the others. For MODE, along ranges of
places a value is there equally often; at each place the best of the ranges that cover it wins.

A step costs the distinct values of the groups that it touches, for quantiles times the logarithm of their
number.

Cites: ARGUS 3 (holistic functions)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.aggregates.extreme import NOTHING, range_minimum
from seine.operators.aggregates.fold import Changes, FoldState
from seine.operators.aggregates.value_counts import ValueStep
from seine.operators.state.change_layout import ChangeLayout
from seine.operators.state.keyed_table import KeyedMatches
from seine.rows.grouping import dense_ranks


@dataclass(frozen=True)
class ValueItems:
    """Items in the order of their places: `group` and `rank` of the value, and by how much its count changes.

    `pool` at `places_of[rank]` has the value of a rank.
    """

    pool: pa.Array
    places_of: IntArray
    group: IntArray
    rank: IntArray
    place: IntArray
    weight: IntArray

    @staticmethod
    def of(layout: ChangeLayout, step: ValueStep) -> ValueItems:
        """The items of all groups of a step."""
        groups, values, counts = step.scan(np.arange(layout.groups))
        pool = pa.concat_arrays([step.values[-1], values])
        ranks, places_of = dense_ranks(pool)
        touched, others = ranks[: len(step.owner)], ranks[len(step.owner) :]
        width = len(places_of) + 1
        fresh = ~np.isin(groups * width + others, step.owner * width + touched)
        changed_by = step.count - step.count_before
        group = np.concatenate([step.owner, groups[fresh], step.owner[step.changed]])
        rank = np.concatenate([touched, others[fresh], touched[step.changed]])
        start = layout.first.take(group[: len(touched) + int(fresh.sum())])
        place = np.concatenate([start, step.changed_at])
        weight = np.concatenate([step.before, counts[fresh], changed_by])
        order = np.argsort(place, kind="stable")
        return ValueItems(
            pool, places_of, group.take(order), rank.take(order), place.take(order), weight.take(order)
        )

    def values(self, ranks: IntArray) -> pa.Array:
        """The values of ranks; NULL for those below zero."""
        known = ranks >= 0
        places = self.places_of.take(np.where(known, ranks, 0)) if len(self.places_of) else ranks
        return self.pool.take(pa.array(places, mask=~known))


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


class Mode:
    """Keeps nothing of its own: the multiset of values is kept by group (`value_counts.py`)."""

    state: tuple[pa.DataType, ...] = ()
    parts: tuple[pa.DataType, ...] = ()

    def advance(
        self, changes: Changes, stored: KeyedMatches, names: Sequence[str]
    ) -> tuple[pa.Array, FoldState]:
        assert changes.counted is not None
        items = ValueItems.of(changes.layout, changes.counted)
        rank, since, until, count = _ranges(items, changes.layout)
        order = np.lexsort((rank, -count))
        best = np.empty(len(order), np.int64)
        best[order] = np.arange(len(order))
        least = range_minimum(changes.layout.size, since, until, best)
        known = least != NOTHING
        ranks = np.append(rank.take(order), -1).take(np.where(known, least, len(order)))
        return items.values(ranks), []

    def part(self, changes: Changes, value: pa.Array, start: pa.Array | None) -> list[pa.Array]:
        """It has none: the most frequent values of finer groups say nothing of the coarser one's."""
        return []


def _ranges(items: ValueItems, layout: ChangeLayout) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The ranges of places along which a value is there equally often: its rank, since, until, how often."""
    order = np.lexsort((items.place, items.rank, items.group))
    group, rank = items.group.take(order), items.rank.take(order)
    place, weight = items.place.take(order), items.weight.take(order)
    opens = np.ones(len(order), bool)
    opens[1:] = (group[1:] != group[:-1]) | (rank[1:] != rank[:-1])
    sums = np.cumsum(weight)
    base = (sums - weight)[np.flatnonzero(opens)]
    count = sums - base.take(np.cumsum(opens) - 1) if len(order) else sums
    until = layout.last.take(group) + 1
    until[:-1] = np.where(opens[1:], until[:-1], place[1:])
    lasts = (until > place) & (count > 0)
    return rank[lasts], place[lasts], until[lasts], count[lasts]
