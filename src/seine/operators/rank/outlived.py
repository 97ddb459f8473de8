"""Rows that can never be among the first n again: n better ones live at least as long.

    row (best first)   ends at
    a                  9
    b                  5
    c                  9          of n = 1 outlived by a; of n = 2 kept
    d                  4          outlived by a, b and c

Counting for each row the better ones that outlive it takes a merge sort, all partitions at once.
"""

from __future__ import annotations

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray


def outlived(partition: IntArray, ends: IntArray, wanted: IntArray) -> BoolArray:
    """Which rows n better ones outlive; rows are given by partition, ascending, and in it the best first.

    >>> one = np.zeros(4, np.int64)
    >>> outlived(one, np.array([9, 5, 9, 4]), one + 2).tolist()
    [False, False, False, True]
    """
    values, codes = np.unique(ends, return_inverse=True)
    # Rows of earlier partitions have smaller values, so that they count for nothing.
    reach = np.searchsorted(np.unique(partition), partition) * len(values) + codes
    return _larger_before(reach, int(wanted.max(initial=0))) >= wanted


def _larger_before(values: IntArray, most: int) -> IntArray:
    """How many values before each one are at least as large: by pairs of blocks of doubling size."""
    if most == 1:
        best = np.maximum.accumulate(values)
        before = np.append(-1, best[:-1])[: len(values)]
        return (before >= values).astype(np.int64)
    places = np.arange(len(values))
    counts = np.zeros(len(values), np.int64)
    width = 1
    while width < len(values):
        pair, right = places // (2 * width), (places // width) % 2
        order = np.lexsort((right, -values, pair))
        lefts = np.cumsum(right[order] == 0)
        before = (pair * width)[order]  # every earlier pair has a full left block
        counts[order] += np.where(right[order] == 1, lefts - before, 0)
        width *= 2
    return counts
