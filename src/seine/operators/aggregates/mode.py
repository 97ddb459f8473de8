"""MODE: the value of a multiset that is there most often; of several, the least.

    SELECT k, MODE(v) FROM s GROUP BY k

Law: at every place the most frequent of the values alive there. Along ranges of places a value is there
equally often; at each place the best of the ranges that cover it wins. As for quantiles, a step costs the
values of the groups that it touches.

Cites: ARGUS 3 (holistic functions)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.aggregates.extreme import NOTHING, range_minimum
from seine.operators.aggregates.fold import Changes, FoldState
from seine.operators.aggregates.value_ranks import ValueItems
from seine.operators.state.change_layout import ChangeLayout
from seine.operators.state.keyed_table import KeyedMatches


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
