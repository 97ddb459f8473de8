"""Pairs of rows by number, formed a bounded number at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

MAX_PAIRS_AT_ONCE = 1_000_000  # pairs formed at once: what a flood of matches costs in memory


class Pairs(NamedTuple):
    """Rows of two batches that meet, and the life that they share."""

    probe: np.ndarray
    run: np.ndarray
    start: np.ndarray
    end: np.ndarray

    def where(self, mask: np.ndarray) -> Pairs:
        kept = np.flatnonzero(mask)
        return Pairs(*(column[kept] for column in self))

    @property
    def size(self) -> int:
        return len(self.probe)


def ranges(
    low: np.ndarray, high: np.ndarray, chunk: int = MAX_PAIRS_AT_ONCE
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each range [low, high) as pairs (number of the range, place in it), at most `chunk` at once.

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
