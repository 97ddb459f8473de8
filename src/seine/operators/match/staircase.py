"""A staircase (two-dimensional skyline) over boxes: whether any box contains a row, by one binary search.

A box of two lower bounds contains the points to the upper right of its corner. The union of such boxes is
bounded by a staircase: sorted by the first bound, only the least second bound so far matters. A row looks up
how far its first code reaches and compares its second with the step there.

    second ^  │
           │  │   in b1
           │  └─────┐
           │  b1    │   in b2
           │        └─────────
           │        b2
           └───────────────────> first

That decides boxes of up to two bounds; for more it is a first test, with false positives.

Cites: ARGUS 5.1 (a weaker condition subsumes a stronger one)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seine.algebra.arrays import IntArray
from seine.evaluate.ordinals import MAX_CODE
from seine.operators.match.boxes import Boxes
from seine.operators.match.code_lookup import CodeGroups

_MOST_ROUNDS = 64  # boxes of three and more bounds, of each group, that are compared with the others


class Staircase:
    """The staircase of each group of boxes with equal points."""

    def __init__(self, boxes: Boxes, groups: CodeGroups) -> None:
        """`groups` are those of the boxes' equalities."""
        self._groups = groups
        self._bounds = len(boxes.bounds)
        self.is_exact = self._bounds <= 2
        least = [bound.least for bound in boxes.bounds]
        if self._bounds == 1:
            self._least = np.full(self._groups.count, MAX_CODE)
            np.minimum.at(self._least, self._groups.of, least[0])
        elif self._bounds:
            self._build(least[0], least[1])

    def _build(self, first: IntArray, second: IntArray) -> None:
        self._distinct, places = np.unique(first, return_inverse=True)
        self._width = len(self._distinct) + 1
        keys = self._groups.of * self._width + places
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._starts = np.searchsorted(self._keys, np.arange(self._groups.count) * self._width)
        self._steps = _running_least(self._groups.of[order], second[order])

    def holding(self, equal: Sequence[IntArray], bounded: Sequence[IntArray], num_rows: int) -> IntArray:
        """The rows that any box contains, ascending; unless `is_exact`, false positives too.

        `equal` are the rows' codes for each equality, `bounded` those for each bound, as `BoxBound.of`.
        """
        kept, groups = self._groups.find(equal, num_rows)
        if not self._bounds:
            return np.arange(num_rows) if kept is None else kept
        codes = [one if kept is None else one[kept] for one in bounded[:2]]
        if self._bounds == 1:
            good = np.flatnonzero(codes[0] >= self._least[groups])
        else:
            good = self._climb(codes[0], codes[1], groups)
        return good if kept is None else kept[good]

    def _climb(self, first: IntArray, second: IntArray, groups: IntArray) -> IntArray:
        reached = groups * self._width + np.searchsorted(self._distinct, first, "right")
        steps = np.searchsorted(self._keys, reached) - 1
        on = np.flatnonzero(steps >= self._starts[groups])
        return on[second[on] >= self._steps[steps[on]]]


def _running_least(groups: IntArray, values: IntArray) -> IntArray:
    """The running minimum in each group; groups ascend.

    >>> _running_least(np.array([0, 0, 0, 1, 1]), np.array([5, 7, 2, 9, 8])).tolist()
    [5, 5, 2, 9, 8]
    """
    distinct, ranks = np.unique(values, return_inverse=True)
    shift = -groups * len(distinct)  # whatever a later group has is less than all before
    least: IntArray = distinct[np.minimum.accumulate(ranks + shift) - shift]
    return least


def skyline(groups: IntArray, least: Sequence[IntArray]) -> IntArray:
    """The boxes, ascending, that no other box of their group contains; of equal ones the first.

    With three and more bounds the search is bounded, and contained ones may remain.

    >>> skyline(np.array([0, 0, 0, 1]), [np.array([3, 1, 2, 9]), np.array([5, 6, 6, 9])]).tolist()
    [0, 1, 3]
    """
    if not len(groups):
        return np.zeros(0, np.int64)
    if len(least) > 2:
        return _by_rounds(groups, least)
    order = np.lexsort([*reversed(least), groups])
    sorted_groups = groups[order]
    fresh = np.diff(sorted_groups, prepend=-1) != 0
    if len(least) == 2:
        steps = _running_least(sorted_groups, least[1][order])
        fresh[1:] |= steps[1:] < steps[:-1]
    return np.sort(order[fresh])


def _by_rounds(groups: IntArray, least: Sequence[IntArray]) -> IntArray:
    """In each round, the weakest box of each group that is left drops those that it contains."""
    weight = np.sum([np.unique(one, return_inverse=True)[1] for one in least], axis=0)
    left = np.lexsort([weight, groups])  # what contains a box stands before it
    done = []
    for _ in range(_MOST_ROUNDS):
        if not len(left):
            break
        mine = groups[left]
        heads = np.flatnonzero(np.diff(mine, prepend=-1))
        head = np.repeat(left[heads], np.diff(heads, append=len(left)))
        contained = np.logical_and.reduce([one[left] >= one[head] for one in least])
        done.append(left[heads])
        left = left[~contained]  # a head contains itself
    return np.sort(np.concatenate([*done, left]))
