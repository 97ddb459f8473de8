"""MIN and MAX over rows that never end: a running extreme, of which one value a group is kept.

    SELECT MAX(amount), BOOL_AND(checked) FROM transfer      -- transfer only appends, and has no window

Where nothing expires or is deleted, the extreme only grows, so no other value is needed again. Law: at every
place it is the extreme of the values at this place and all places before it, and of what was stored.

    place      0    1    2    3
    values     7    5    9    6
    MIN        7    5    5    5         stored afterwards: 5

Its part is the extreme of the values that come at a place; a coarser group takes these for values.

Cites: ARGUS 3 (incremental aggregation from bounded statistics)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.aggregates.fold import Changes, FoldState
from seine.operators.state.keyed_table import KeyedMatches
from seine.rows.grouping import as_mask, dense_ranks


class LastingExtreme:
    """The accumulator and its part are one value, the extreme."""

    def __init__(self, type_: pa.DataType, greatest: bool) -> None:
        self.state: tuple[pa.DataType, ...] = (type_,)
        self.parts: tuple[pa.DataType, ...] = (type_,)
        self._greatest = greatest

    def advance(
        self, changes: Changes, stored: KeyedMatches, names: Sequence[str]
    ) -> tuple[pa.Array, FoldState]:
        start = stored.column(names[0])
        pool, least, nothing = self._least_coming(changes, start)
        layout = changes.layout
        # Codes of later groups are below those of earlier ones, so one running minimum serves all groups.
        floors = (layout.groups - 1 - layout.group) * (nothing + 1)
        before = np.where(as_mask(start.is_valid()), pool.ranks[len(pool.ranks) - len(start) :], nothing)
        least[layout.first] = np.minimum(least[layout.first], before)
        running = np.minimum.accumulate(least + floors) - floors
        values = pool.values_of(running)
        return values, [values.take(pa.array(layout.last))]

    def part(self, changes: Changes, value: pa.Array, start: pa.Array | None) -> list[pa.Array]:
        pool, least, _ = self._least_coming(changes, pa.nulls(0, self.state[0]))
        return [pool.values_of(least)]

    def _least_coming(self, changes: Changes, start: pa.Array) -> tuple[_RankedPool, IntArray, int]:
        """The rank of the extreme that comes at each place, and the rank that stands for none."""
        known = np.flatnonzero(as_mask(changes.values[-1].is_valid()))
        pool = _RankedPool(changes.values[-1].take(pa.array(known)), start, self._greatest)
        nothing = len(pool.places)
        least = np.full(changes.layout.size, nothing)
        np.minimum.at(least, changes.places.take(known), pool.ranks[: len(known)])
        return pool, least, nothing


class _RankedPool:
    """Values in the order in which the least rank is the extreme; a rank beyond all is no value."""

    def __init__(self, values: pa.Array, start: pa.Array, greatest: bool) -> None:
        self._pool = pa.concat_arrays([values, start])
        self.ranks, self.places = dense_ranks(self._pool)
        if greatest:
            self.ranks, self.places = len(self.places) - 1 - self.ranks, self.places[::-1]

    def values_of(self, ranks: IntArray) -> pa.Array:
        """The values of ranks, NULL for what stands for none."""
        known = ranks < len(self.places)
        places = np.append(self.places, 0).take(np.where(known, ranks, len(self.places)))
        return self._pool.take(pa.array(places, mask=~known))
