"""Which rows may have other values than an instant ago: those that are near a row that begins or ends.

    rows in order          a  b  c  d  e  f  g
    alive before           1  1  1  0  1  1  1
    alive now              1  1  0  1  1  1  1       c has ended, d begins
    1 PRECEDING: may differ      x  x  x

A partition at an instant is a place, its live rows are cells, in order. Between two places of a partition
only those cells may differ that are between the first and the last row that begins or ends, and so many
beside them as frames reach: ranges of cells, found without a look at the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from seine.algebra.arrays import IntArray
from seine.algebra.rank_plan import RANGE, Frame

_EVERYTHING = 2**31  # as many rows as no partition has


class ReachedRows(NamedTuple):
    """The most rows by which frames reach behind a row, and ahead of it."""

    behind: int
    ahead: int

    @staticmethod
    def of(frames: Sequence[Frame]) -> ReachedRows:
        """Together of all frames; one that goes by values may reach any row.

        >>> ReachedRows.of([Frame("rows", -10, 0), Frame("rows", -1, 2)])
        ReachedRows(behind=10, ahead=2)
        """
        behind = [_EVERYTHING if f.unit == RANGE or f.start is None else -f.start for f in frames]
        ahead = [_EVERYTHING if f.unit == RANGE or f.end is None else f.end for f in frames]
        return ReachedRows(max(0, *behind), max(0, *ahead))


class AlivePlaces(NamedTuple):
    """From which place on each row is alive, -1 if it was before, and from which no longer."""

    begins: IntArray
    ends: IntArray


class PartitionInstants(NamedTuple):
    """Partitions at instants, in order, and the rows [low, high) of the partition of each."""

    partition: IntArray
    time: IntArray
    low: IntArray
    high: IntArray


class AliveCells:
    """The cells of the places [first, last), in order, each partition with the place before its first one."""

    def __init__(self, places: PartitionInstants, lives: AlivePlaces, first: int, last: int) -> None:
        partition = places.partition[first:last]
        opens = np.append(True, partition[1:] != partition[:-1])
        at = np.arange(len(partition)) + np.cumsum(opens)
        self._is_before = np.zeros(len(partition) + int(opens.sum()), bool)
        self._is_before[at[opens] - 1] = True
        self._number = np.empty(len(self._is_before), np.int64)  # of each place
        self._number[at] = np.arange(first, last)
        self._number[self._is_before] = self._number[at[opens]] - 1
        shown = self._number + self._is_before
        low, sizes = places.low[shown], (places.high - places.low)[shown]
        row = np.arange(int(sizes.sum())) + np.repeat(low - (np.cumsum(sizes) - sizes), sizes)
        now = np.repeat(self._number, sizes)
        alive = np.flatnonzero((lives.begins[row] <= now) & (now < lives.ends[row]))
        self.row = row[alive]
        self.place = np.repeat(np.arange(len(sizes)), sizes)[alive]
        self.bounds = np.searchsorted(self.place, np.arange(len(sizes) + 1))  # the first cell of each place
        self._lives, self._time, self.partition_rows = lives, places.time, places.low[first:last][opens]

    def times(self, places: IntArray) -> IntArray:
        """The instants of places."""
        times: IntArray = self._time[self._number[places]]
        return times

    @cached_property
    def _key(self) -> IntArray:
        """Cells as numbers that ascend."""
        return np.asarray(self.place * self._span + self.row)

    @property
    def _span(self) -> int:
        return len(self._lives.begins)

    def near_changes(self, reach: ReachedRows) -> tuple[IntArray, IntArray]:
        """The cells that may differ from the place before, and those of that place that they may differ from.

        Both ascend; a cell of one has its row in the other unless the row begins or ends there.
        """
        low, high = self._changed_rows()
        into = np.flatnonzero(~self._is_before)
        return (
            self._near(into, low[into], high[into], reach),
            self._near(into - 1, low[into], high[into], reach),
        )

    def pairs(self, now: IntArray, was: IntArray) -> tuple[IntArray, IntArray]:
        """Of cells that may differ, those of the same rows: for some of `now`, who of `was`, by position."""
        key, before = self._key[now], self._key[was] + self._span
        at = np.searchsorted(before, key)
        matches = np.flatnonzero(before.take(at, mode="clip") == key) if len(before) else at[:0]
        return matches, at[matches]

    def _changed_rows(self) -> tuple[IntArray, IntArray]:
        """The first and the last row that begins at each place, or ends there."""
        number = self._number[self.place]
        begins = np.flatnonzero((self._lives.begins[self.row] == number) & ~self._is_before[self.place])
        ends = np.flatnonzero(self._lives.ends[self.row] == number + 1)
        ends = ends[~np.append(self._is_before, True)[self.place[ends] + 1]]
        place = np.concatenate([self.place[begins], self.place[ends] + 1])
        row = np.concatenate([self.row[begins], self.row[ends]])
        low, high = np.full(len(self._number), self._span), np.full(len(self._number), -1)
        np.minimum.at(low, place, row)
        np.maximum.at(high, place, row)
        return low, high

    def _near(self, places: IntArray, low: IntArray, high: IntArray, reach: ReachedRows) -> IntArray:
        """The cells of places from row to row, and those beside them that are in reach."""
        start = np.searchsorted(self._key, places * self._span + low) - reach.ahead
        stop = np.searchsorted(self._key, places * self._span + high, "right") + reach.behind
        start = np.maximum(start, self.bounds[places])
        sizes = np.maximum(np.minimum(stop, self.bounds[places + 1]) - start, 0)
        return np.asarray(np.arange(int(sizes.sum())) + np.repeat(start - (np.cumsum(sizes) - sizes), sizes))


def numbered_places(partition: IntArray, time: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Different (partition, instant) in order, and the number of each that is given.

    >>> [a.tolist() for a in numbered_places(np.array([1, 0, 1]), np.array([5, 7, 5]))]
    [[0, 1], [7, 5], [1, 0, 1]]
    """
    order = np.lexsort((time, partition))
    partition, time = partition[order], time[order]
    new = np.append(True, (partition[1:] != partition[:-1]) | (time[1:] != time[:-1]))[: len(order)]
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(new) - 1
    return partition[new], time[new], number
