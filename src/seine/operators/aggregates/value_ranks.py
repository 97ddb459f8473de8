"""The multiset of a group's values along the places of a step, as weighted items: for order statistics.

A quantile or a mode needs all live values of a group. Those that the step does not touch are items of the
group's first place; those that it touches are, too, with the count that they had, and then one item for each
change of it.

    group of values 3 3 7        item   value  place  weight
    at place 1 a 3 leaves               3      0      2
    at place 2 a 9 comes                7      0      1
                                        3      1      -1
                                        9      2      1
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.aggregates.value_counts import ValueStep
from seine.operators.state.change_layout import ChangeLayout
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
