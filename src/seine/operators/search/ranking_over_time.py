"""Which trees are among the first k of their tag, instant by instant, for all tags at once.

    tree (best first)   alive at 3  4  5  6        shown, k = 2      3  4  5  6        changes
    a                         1  1  0  0                             1  1  0  0        a - at 5
    b                         1  1  1  1                             1  1  1  1
    c                         1  1  1  0                             0  0  1  0        c + at 5, - at 6

A tree is shown where fewer than k better ones are alive: a running sum down the table. Of trees that nothing
happens to in some instants only the first k of a tag are in its table, so its size goes by what happens.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seine.algebra.arrays import IntArray

MOST_CELLS = 1 << 20  # of a table, unless a single instant has more
_MOST_INSTANTS = 128  # of a table


class TreesAtTimes(NamedTuple):
    """Trees, each at an instant; one that is counted more than once stands as often."""

    tree: IntArray
    time: IntArray


class ShownChanges(NamedTuple):
    """How many more or fewer of a tree are shown from an instant on."""

    tree: IntArray
    time: IntArray
    more: IntArray

    def begun(self) -> TreesAtTimes:
        return self._repeated(self.more.clip(min=0))

    def ended(self) -> TreesAtTimes:
        return self._repeated((-self.more).clip(min=0))

    def _repeated(self, counts: IntArray) -> TreesAtTimes:
        return TreesAtTimes(np.repeat(self.tree, counts), np.repeat(self.time, counts))


def shown_changes(
    tag: IntArray, wanted: IntArray, count: IntArray, times: IntArray, trees: IntArray, weights: IntArray
) -> ShownChanges:
    """What changes in the first `wanted` trees of each tag.

    Of each tree there is its tag (ascending, and of one tag the better ones first), how many of its tag are
    wanted, and how many are alive at first; of each event its time, ascending, its tree and its weight.

    >>> nothing = np.zeros(3, np.int64)
    >>> events = np.array([[3, 0, 1], [3, 1, 1], [3, 2, 1], [5, 0, -1], [6, 2, -1]]).T
    >>> [column.tolist() for column in shown_changes(nothing, nothing + 2, nothing, *events)]
    [[0, 1, 0, 2, 2], [3, 3, 5, 5, 6], [1, 1, -1, 1, -1]]
    """
    count = count.copy()
    pieces = []
    instants = np.unique(times)
    at = 0
    while at < len(instants):
        length = min(_MOST_INSTANTS, len(instants) - at)
        while True:
            low, high = np.searchsorted(times, (instants[at], instants[at + length - 1] + 1))
            rows = _concerned(tag, wanted, count, np.unique(trees[low:high]))
            if length == 1 or len(rows) * (length + 1) <= MOST_CELLS:
                break
            length = max(1, min(length - 1, MOST_CELLS // len(rows) - 1))
        columns = np.searchsorted(instants[at : at + length], times[low:high])
        alive = np.zeros((len(rows), length + 1), np.int64)
        alive[:, 0] = count[rows]
        np.add.at(alive, (np.searchsorted(rows, trees[low:high]), columns + 1), weights[low:high])
        more = np.diff(_shown(alive.cumsum(1).clip(min=0), tag[rows], wanted[rows]), axis=1)
        when, which = np.nonzero(more.T)
        pieces.append(ShownChanges(rows[which], instants[at + when], more[which, when]))
        np.add.at(count, trees[low:high], weights[low:high])
        at += length
    return ShownChanges(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def _concerned(tag: IntArray, wanted: IntArray, count: IntArray, changing: IntArray) -> IntArray:
    """The trees that may be shown for a while: those that something happens to, and the first of others."""
    others = count.clip(min=0)
    others[changing] = 0
    places = np.flatnonzero((others > 0) & np.isin(tag, np.unique(tag[changing])))
    first = _sums_before(others[places], tag[places]) < wanted[places]
    return np.union1d(changing, places[first])


def _sums_before(values: IntArray, tag: IntArray) -> IntArray:
    """The sums of what stands before each row, within its tag; of each column, if there are several."""
    if not len(tag):
        return values
    before = values.cumsum(0) - values
    first = np.searchsorted(tag, tag)
    sums: IntArray = before - before[first]
    return sums


def _shown(alive: IntArray, tag: IntArray, wanted: IntArray) -> IntArray:
    """How many of each tree are among the first of its tag, at each instant."""
    room = wanted[:, None] - _sums_before(alive, tag)
    shown: IntArray = np.clip(room, 0, alive)
    return shown
