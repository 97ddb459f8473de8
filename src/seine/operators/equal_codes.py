"""Rows found by equal codes: exact whole numbers that stand for the values of some columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from seine.operators.hashing import mix
from seine.operators.pairs import ranges

_STEP = np.uint64(0x9E3779B97F4A7C15)


class CodeIndex:
    """Rows by some columns of codes; without columns every row equals every other.

    >>> index = CodeIndex([np.array([7, 8, 7]), np.array([1, 1, 2])], 3)
    >>> [(a.tolist(), b.tolist()) for a, b in index.matches([np.array([7, 9]), np.array([2, 1])], 2)]
    [([0], [2])]
    """

    def __init__(self, columns: Sequence[np.ndarray], rows: int) -> None:
        self._columns = columns
        self.rows = rows

    def matches(self, columns: Sequence[np.ndarray], count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs (number of the asking row, row of the index) that agree in all columns, in chunks."""
        low, high = self._places(columns, count)
        for asking, places in ranges(low, high):
            ours = self._order[places]
            if len(columns) > 1:
                same = np.logical_and.reduce(
                    [theirs[asking] == own[ours] for theirs, own in zip(columns, self._columns, strict=True)]
                )
                asking, ours = asking[same], ours[same]
            yield asking, ours

    def candidates(self, columns: Sequence[np.ndarray], count: int) -> int:
        """How many pairs there are at most."""
        low, high = self._places(columns, count)
        return int((high - low).sum())

    def _places(self, columns: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
        keys = _one(columns, count)
        return np.searchsorted(self._sorted, keys), np.searchsorted(self._sorted, keys, "right")

    @cached_property
    def _keys(self) -> np.ndarray:
        return _one(self._columns, self.rows)

    @cached_property
    def _order(self) -> np.ndarray:
        return np.argsort(self._keys, kind="stable")

    @cached_property
    def _sorted(self) -> np.ndarray:
        return self._keys[self._order]


def _one(columns: Sequence[np.ndarray], count: int) -> np.ndarray:
    """One number for each row; rows that agree in all columns have the same."""
    if not columns:
        return np.zeros(count, np.int64)
    total = columns[0]
    for column in columns[1:]:
        total = mix(total.view(np.uint64) * _STEP + column.view(np.uint64)).view(np.int64)
    return total


def distinct(columns: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """One row of each kind, and for every row the number of its kind.

    >>> firsts, kinds = distinct([np.array([5, 4, 5]), np.array([1, 1, 1])], 3)
    >>> firsts.tolist(), kinds.tolist()
    ([1, 0], [1, 0, 1])
    """
    if not count:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if not columns:
        return np.zeros(1, np.int64), np.zeros(count, np.int64)
    order = np.argsort(columns[0], kind="stable") if len(columns) == 1 else np.lexsort(columns[::-1])
    new = np.zeros(count, bool)
    new[0] = True
    for column in columns:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    kinds = np.empty(count, np.int64)
    kinds[order] = np.cumsum(new) - 1
    return order[new], kinds
