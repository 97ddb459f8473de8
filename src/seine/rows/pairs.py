"""Candidate pairs of a join as index arrays, formed in chunks of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from seine.algebra.arrays import AnyArray, BoolArray, IntArray

MAX_PAIRS_AT_ONCE = 1_000_000  # bounds the memory that a probe with very many matches takes


class Pairs(NamedTuple):
    """Pairs of a probing row and a row of a stored run, by index, and the lifetime that they share."""

    probe: IntArray
    run: IntArray
    start: IntArray
    end: IntArray

    def where(self, mask: BoolArray) -> Pairs:
        """The pairs at which the mask is true."""
        kept = np.flatnonzero(mask)
        return Pairs(*(column[kept] for column in self))

    @property
    def size(self) -> int:
        """The number of pairs."""
        return len(self.probe)


def ranges(
    low: AnyArray, high: AnyArray, chunk: int = MAX_PAIRS_AT_ONCE
) -> Iterator[tuple[IntArray, IntArray]]:
    """Expand ranges [low, high) to pairs (number of the range, index in it), at most `chunk` at once.

    >>> [[a.tolist() for a in piece] for piece in ranges(np.array([5, 0, 7]), np.array([8, 0, 8]), chunk=3)]
    [[[0, 0, 0], [5, 6, 7]], [[2], [7]]]
    """
    owners = np.flatnonzero(low < high)
    low, sizes = low[owners].astype(np.int64), (high - low)[owners]
    stops = np.cumsum(sizes, dtype=np.int64)
    total = int(stops[-1]) if len(stops) else 0
    for begin in range(0, total, chunk):
        end = min(begin + chunk, total)
        first, last = np.searchsorted(stops, begin, "right"), np.searchsorted(stops, end) + 1
        bounds = np.clip(stops[first:last], begin, end)
        shares = np.diff(bounds, prepend=begin)
        shift = low[first:last] - (stops - sizes)[first:last]
        yield np.repeat(owners[first:last], shares), np.arange(begin, end) + np.repeat(shift, shares)


def bounded_slices(sizes: IntArray, most: int) -> list[slice]:
    """Cut rows of known sizes into pieces of at most `most` in sum; a larger row is a piece alone.

    >>> bounded_slices(np.array([3, 3, 9, 1, 1]), 7)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None)]
    """
    sums = np.cumsum(sizes, dtype=np.int64)
    slices, begin, spent = [], 0, 0
    while begin < len(sums):
        end = max(begin + 1, int(np.searchsorted(sums, spent + most, "right")))
        slices.append(slice(begin, end))
        begin, spent = end, int(sums[end - 1])
    return slices
