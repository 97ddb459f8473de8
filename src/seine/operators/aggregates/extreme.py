"""Retractable MIN and MAX, of any ordered type: the extreme of a multiset that grows and shrinks.

The state of a group is its extreme; a multiset of all its values is kept beside it (`value_counts.py`) and is
read only when the extreme leaves. Within a step, a value that the step touches is alive in a range of places;
of the others, which are alive at every place of the step, one candidate a group is enough: the former
extreme. Only if the step ends that one, and does not touch all other values, are the group's values read.

    place      0    1    2    3
    value 7    [---------)              touched: alive at 0, 1, 2
    value 5         [----)              touched: alive at 1
    value 9    [-------------------)    the candidate: alive throughout
    MIN        7    5    7    9

MIN and MAX over rows that never end: a running extreme, of which one value a group is kept.

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
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.aggregates.fold import ROWS, Changes, FoldState
from seine.operators.aggregates.value_counts import ValueStep
from seine.operators.state.change_layout import ChangeLayout
from seine.operators.state.keyed_table import KeyedMatches
from seine.rows.grouping import as_mask, dense_ranks, equal_values

NOTHING = np.int64(2**62)  # the rank of "no value": beyond all ranks


def range_minimum(size: int, since: IntArray, until: IntArray, values: IntArray) -> IntArray:
    """At each place the least value of the ranges [since, until) that cover it: a reversed sparse table.

    Each range is two overlapping blocks of a power of two; blocks are halved level by level, so the cost is
    that of size times the logarithm of the longest range.

    >>> covered = range_minimum(4, np.array([0, 1]), np.array([3, 2]), np.array([7, 5]))
    >>> np.where(covered == NOTHING, -1, covered).tolist()
    [7, 5, 7, -1]
    """
    least = np.full(size, NOTHING)
    level = np.frexp((until - since).astype(np.float64))[1] - 1
    for k in range(int(level.max(initial=-1)), -1, -1):
        here = np.flatnonzero(level == k)
        np.minimum.at(least, since[here], values[here])
        np.minimum.at(least, until[here] - 2**k, values[here])
        if k:
            half = 2 ** (k - 1)
            least[half:] = np.minimum(least[half:], least[:-half].copy())
    return least


class Extreme:
    """The accumulator is the extreme; its part is the pair (extreme that leaves, extreme that comes)."""

    def __init__(self, type_: pa.DataType, greatest: bool) -> None:
        self.state: tuple[pa.DataType, ...] = (type_,)
        self.parts: tuple[pa.DataType, ...] = (type_, type_)
        self._greatest = greatest

    def advance(
        self, changes: Changes, stored: KeyedMatches, names: Sequence[str]
    ) -> tuple[pa.Array, FoldState]:
        step = changes.counted
        assert step is not None
        start = stored.column(names[0])
        groups, others, _ = step.scan(_losers(step, start, stored.numbers(ROWS)))
        pool = pa.concat_arrays([step.values[-1], start, others])
        ranks, places = dense_ranks(pool)
        if self._greatest:
            ranks, places = len(places) - 1 - ranks, places[::-1]
        least = _least(changes.layout, step, start, groups, ranks)
        known = least != NOTHING
        values = pool.take(pa.array(places[np.where(known, least, 0)], mask=~known))
        return values, [values.take(pa.array(changes.layout.last))]

    def part(self, changes: Changes, value: pa.Array, start: pa.Array | None) -> list[pa.Array]:
        """The extreme that leaves and the one that comes at each place, both NULL where it stays."""
        assert start is not None
        layout = changes.layout
        here, starts = np.arange(layout.size), layout.size + np.arange(layout.groups)
        before = pa.concat_arrays([value, start]).take(pa.array(layout.previous(here, starts)))
        stays = pa.array(equal_values(before, value))
        nothing = pa.scalar(None, value.type)
        return [pc.if_else(stays, nothing, before), pc.if_else(stays, nothing, value)]


def _losers(step: ValueStep, extremes: pa.Array, rows: IntArray) -> IntArray:
    """The groups whose former extreme vanishes in the step, and that have values it does not touch."""
    was_extreme = equal_values(step.values[-1], extremes.take(pa.array(step.owner)))
    lost = np.zeros(len(extremes), bool)
    lost[step.owner[was_extreme & ~step.steady]] = True
    touched = np.zeros(len(extremes), np.int64)
    np.add.at(touched, step.owner, step.before)
    return np.flatnonzero(lost & (touched < rows))


def _least(
    layout: ChangeLayout, step: ValueStep, extremes: pa.Array, groups: IntArray, ranks: IntArray
) -> IntArray:
    """The rank of the extreme at each place; NOTHING where the group has no value."""
    pairs = len(step.owner)
    touched, before, others = np.split(ranks, [pairs, pairs + layout.groups])
    best = _untouched(step, as_mask(extremes.is_valid()), touched, before)
    width = int(ranks.max(initial=0)) + 1
    fresh = ~_among(groups * width + others, step.owner * width + touched)
    np.minimum.at(best, groups[fresh], others[fresh])
    known = np.flatnonzero(best != NOTHING)
    since = np.append(step.since, layout.first[known])
    until = np.append(step.until, layout.last[known] + 1)
    return range_minimum(layout.size, since, until, np.append(touched[step.present], best[known]))


def _among(codes: IntArray, others: IntArray) -> BoolArray:
    """Which codes are among others."""
    ordered = np.append(np.sort(others), NOTHING)
    among: BoolArray = ordered[np.searchsorted(ordered, codes)] == codes
    return among


def _untouched(step: ValueStep, known: BoolArray, touched: IntArray, before: IntArray) -> IntArray:
    """The rank of each group's former extreme, where the step did not touch it."""
    known = known.copy()
    known[step.owner[touched == before[step.owner]]] = False
    return np.where(known, before, NOTHING)


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
