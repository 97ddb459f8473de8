"""Where the changes of one step happen: a place for each group and each of its instants.

Places are ordered by group, then by time. The first place of each group stands for what
was before the step, so that whatever runs along the places of a group starts from its state:

    group     0       0       0       1       1
    instant   before  3       7       before  5
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seine.operators.delta import NEVER
from seine.operators.grouping import Groups


@dataclass(frozen=True)
class Layout:
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

    @property
    def before(self) -> np.ndarray:
        """Which places stand for what was before."""
        mask = np.zeros(self.size, bool)
        mask[self.first] = True
        return mask

    def reached(self, places: np.ndarray) -> np.ndarray:
        """For each place, how many of these ascending places are at or before it."""
        return np.cumsum(np.bincount(places, minlength=self.size))

    def running(self, reached: np.ndarray, weights: np.ndarray, start: np.ndarray) -> np.ndarray:
        """The running sum of weights along the places of each group, from its start.

        Sums are modulo 2**64, so one running sum over all groups serves each.
        """
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(weights)])[reached]
        return sums + (start - sums[self.first])[self.group]


def lay_out(groups: Groups, times: np.ndarray) -> tuple[Layout, np.ndarray]:
    """The layout of grouped events and the place of each; `times` ascend within a group.

    >>> groups = Groups(np.arange(4), np.array([0, 3]))
    >>> layout, places = lay_out(groups, np.array([3, 3, 7, 5]))
    >>> layout.group.tolist(), layout.time.tolist()[1:3], places.tolist()
    ([0, 0, 0, 1, 1], [3, 7], [1, 1, 2, 4])
    """
    new = np.ones(len(times), np.int64)
    new[1:] = times[1:] != times[:-1]
    new[groups.starts] = 2
    places = np.cumsum(new) - 1
    size = int(places[-1]) + 1 if len(places) else 0
    first = places[groups.starts] - 1
    last = np.append(first[1:], size) - 1
    group = np.repeat(np.arange(len(first)), last - first + 1)
    time = np.full(size, NEVER)
    time[places] = times
    return Layout(first, last, group, time), places
