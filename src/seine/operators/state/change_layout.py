"""A flattened timeline of one step: one *place* for each (group, instant) at which a group changes.

A grouped operator changes many groups at several instants in one step. The layout lays all these changes out
as one array, ordered by group and then by time, so that a prefix sum over the whole array serves every group
at once (a segmented scan). What a group was before the step has no place; it is given as `start`.

    place     0       1       2
    group     0       0       1          first = [0, 2]
    instant   3       7       5          last  = [1, 2]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.rows.grouping import Groups


@dataclass(frozen=True)
class ChangeLayout:
    """The places of all groups: `first` and `last` are per group, `group` and `time` per place."""

    first: IntArray
    last: IntArray
    group: IntArray
    time: IntArray

    @property
    def groups(self) -> int:
        return len(self.first)

    @property
    def size(self) -> int:
        return len(self.group)

    def reached(self, places: IntArray) -> IntArray:
        """For each place, how many of the given ascending places are at or before it."""
        return np.cumsum(np.bincount(places, minlength=self.size))

    def running(self, reached: IntArray, weights: IntArray, start: IntArray) -> IntArray:
        """The prefix sum of weights along the places of each group, beginning with its `start`.

        Law: sums are modulo 2**64, so one prefix sum over all groups, less what came before a group,
        is the prefix sum of that group.
        """
        sums = np.zeros(len(weights) + 1, np.int64)
        np.cumsum(weights, out=sums[1:])
        sums = sums.take(reached)
        base = start.copy()
        base[1:] -= sums.take(self.last[:-1])
        sums += base.take(self.group)
        return sums

    def sums(self, reached: IntArray, weights: IntArray) -> IntArray:
        """The sum of the weights at each place, without what came before."""
        sums = np.zeros(len(weights) + 1, np.int64)
        np.cumsum(weights, out=sums[1:])
        return np.diff(sums.take(reached), prepend=0)

    def previous(self, values: IntArray, start: IntArray) -> IntArray:
        """The value at the preceding place of the same group; at a group's first place, its `start`."""
        before = np.empty_like(values)
        before[1:] = values[:-1]
        before[self.first] = start
        return before


@dataclass(frozen=True)
class Excerpt:
    """A selection of a layout's groups with their places, renumbered so that it is a layout by itself.

    >>> whole = ChangeLayout(np.array([0, 2]), np.array([1, 2]), np.array([0, 0, 1]), np.array([3, 7, 5]))
    >>> part = Excerpt.of(whole, np.array([False, True]))
    >>> part.places.tolist(), part.layout.time.tolist(), part.layout.group.tolist()
    ([2], [5], [0])
    """

    layout: ChangeLayout
    groups: IntArray
    places: IntArray

    @staticmethod
    def of(whole: ChangeLayout, wanted: BoolArray) -> Excerpt:
        """The groups that a mask selects."""
        groups, places = wanted.nonzero()[0], wanted.take(whole.group).nonzero()[0]
        sizes = (whole.last - whole.first + 1).take(groups)
        last = np.cumsum(sizes) - 1
        group = np.repeat(np.arange(len(groups)), sizes)
        return Excerpt(ChangeLayout(last - sizes + 1, last, group, whole.time.take(places)), groups, places)


def lay_out(groups: Groups, times: IntArray) -> tuple[ChangeLayout, IntArray]:
    """The layout of grouped events, and the place of each event; `times` ascend within a group.

    >>> groups = Groups(np.arange(4), np.array([0, 3]))
    >>> layout, places = lay_out(groups, np.array([3, 3, 7, 5]))
    >>> layout.group.tolist(), layout.time.tolist(), places.tolist()
    ([0, 0, 1], [3, 7, 5], [0, 0, 1, 2])
    """
    new = np.ones(len(times), bool)
    np.not_equal(times[1:], times[:-1], out=new[1:])
    new[groups.starts] = True
    places = np.cumsum(new) - 1
    first = places[groups.starts]
    opens = new.nonzero()[0]
    last = np.empty_like(first)
    last[:-1], last[-1:] = first[1:] - 1, len(opens) - 1
    group = np.repeat(np.arange(len(first)), last - first + 1)
    return ChangeLayout(first, last, group, times[opens]), places
