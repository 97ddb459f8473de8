"""Where the changes of one step happen: a place for each group and each of its instants.

Places are ordered by group, then by time. What was before the step has no place: whatever runs
along the places of a group is given what it starts from.

    group     0       0       1
    instant   3       7       5
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seine.rows.grouping import Groups


@dataclass(frozen=True)
class ChangeLayout:
    """Places of G groups; `first` and `last` per group, `group` and `time` per place."""

    first: np.ndarray
    last: np.ndarray
    group: np.ndarray
    time: np.ndarray

    @property
    def groups(self) -> int:
        return len(self.first)

    @property
    def size(self) -> int:
        return len(self.group)

    def reached(self, places: np.ndarray) -> np.ndarray:
        """For each place, how many of these ascending places are at or before it."""
        return np.cumsum(np.bincount(places, minlength=self.size))

    def running(self, reached: np.ndarray, weights: np.ndarray, start: np.ndarray) -> np.ndarray:
        """The running sum of weights along the places of each group, from its start.

        Sums are modulo 2**64, so one running sum over all groups serves each.
        """
        sums = np.zeros(len(weights) + 1, np.int64)
        np.cumsum(weights, out=sums[1:])
        sums = sums.take(reached)
        base = start.copy()
        base[1:] -= sums.take(self.last[:-1])
        sums += base.take(self.group)
        return sums

    def sums(self, reached: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The sum of the weights at each place."""
        sums = np.zeros(len(weights) + 1, np.int64)
        np.cumsum(weights, out=sums[1:])
        return np.diff(sums.take(reached), prepend=0)

    def previous(self, values: np.ndarray, start: np.ndarray) -> np.ndarray:
        """What was at the place before, or before the step."""
        before = np.empty_like(values)
        before[1:] = values[:-1]
        before[self.first] = start
        return before


@dataclass(frozen=True)
class Excerpt:
    """Some groups of a layout and the places that are theirs; by themselves they are a layout too.

    >>> whole = ChangeLayout(np.array([0, 2]), np.array([1, 2]), np.array([0, 0, 1]), np.array([3, 7, 5]))
    >>> part = Excerpt.of(whole, np.array([False, True]))
    >>> part.places.tolist(), part.layout.time.tolist(), part.layout.group.tolist()
    ([2], [5], [0])
    """

    layout: ChangeLayout
    groups: np.ndarray
    places: np.ndarray

    @staticmethod
    def of(whole: ChangeLayout, wanted: np.ndarray) -> Excerpt:
        """The groups that are wanted, by a mask."""
        groups, places = wanted.nonzero()[0], wanted.take(whole.group).nonzero()[0]
        sizes = (whole.last - whole.first + 1).take(groups)
        last = np.cumsum(sizes) - 1
        group = np.repeat(np.arange(len(groups)), sizes)
        return Excerpt(ChangeLayout(last - sizes + 1, last, group, whole.time.take(places)), groups, places)


def lay_out(groups: Groups, times: np.ndarray) -> tuple[ChangeLayout, np.ndarray]:
    """The layout of grouped events and the place of each; `times` ascend within a group.

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
