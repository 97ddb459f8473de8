"""Nodes ordered by string, then by document: equal strings within a window are one range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.template_engines.packed_keys import DOCUMENT_BITS, matches
from seine.algebra.arrays import IntArray


@dataclass(frozen=True)
class StringOrder:
    """Sorted strings, and the documents of each in order, as keys (number of the string, document)."""

    string: IntArray
    keys: IntArray

    @classmethod
    def of(cls, string: IntArray, document: IntArray) -> StringOrder:
        """The order of columns that are sorted by string and document already."""
        group = np.cumsum(np.diff(string, prepend=string[:1]) != 0)
        return cls(string, (group << DOCUMENT_BITS) | document)

    def between(self, strings: IntArray, first: IntArray, last: IntArray) -> tuple[IntArray, IntArray]:
        """The range of places [low, high) of each string in documents from `first` to below `last`.

        >>> order = StringOrder.of(np.array([5, 8, 8, 8]), np.array([2, 1, 2, 6]))
        >>> low, high = order.between(np.array([8, 7, 8]), np.array([2, 0, 0]), np.array([6, 9, 9]))
        >>> low.tolist(), high.tolist()
        ([2, 0, 1], [3, 0, 4])
        """
        low, high = matches(self.string, strings)
        known = np.flatnonzero(low < high)
        group = self.keys[low[known]] >> DOCUMENT_BITS << DOCUMENT_BITS
        begin, end = np.zeros_like(low), np.zeros_like(high)
        begin[known] = np.searchsorted(self.keys, group | first[known])
        end[known] = np.searchsorted(self.keys, group | last[known])
        return begin, end
