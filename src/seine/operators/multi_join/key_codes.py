"""Rows found by equal codes: exact whole numbers that stand for the values of some columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from seine.operators.state.sorted_run import KEY, SortedRun
from seine.rows.hashing import mix
from seine.rows.pairs import ranges

_STEP = np.uint64(0x9E3779B97F4A7C15)
_ROW = "row"
_TIMES_FEWER_FOR_INDEX = 8  # times; so few rows are made an index instead, and all others asked


class KeyIndex:
    """Rows by some columns of codes; without columns every row equals every other.

    >>> index = KeyIndex([np.array([7, 8, 7]), np.array([1, 1, 2])], 3)
    >>> [(a.tolist(), b.tolist()) for a, b in index.matches([np.array([7, 9]), np.array([2, 1])], 2)]
    [([0], [2])]
    """

    def __init__(self, columns: Sequence[np.ndarray], rows: int) -> None:
        self._columns = columns
        self.rows = rows

    def matches(self, columns: Sequence[np.ndarray], count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs (number of the asking row, row of the index) that agree in all columns, in chunks."""
        if not (self.rows and count):
            return
        if not columns:
            yield from ranges(np.zeros(count, np.int64), np.full(count, self.rows))
            return
        if (
            count * _TIMES_FEWER_FOR_INDEX < self.rows and "_run" not in self.__dict__
        ):  # not worth an index of many rows
            for ours, asking in KeyIndex(columns, count).matches(self._columns, self.rows):
                yield asking, ours
            return
        for asking, places in self._run.equal_keys(_one(columns)):
            ours = self._numbers.take(places)
            if len(columns) > 1:
                same = np.flatnonzero(
                    np.logical_and.reduce(
                        [
                            theirs[asking] == mine[ours]
                            for theirs, mine in zip(columns, self._columns, strict=True)
                        ]
                    )
                )
                asking, ours = asking.take(same), ours.take(same)
            yield asking, ours

    def has(self, columns: Sequence[np.ndarray], count: int) -> np.ndarray:
        """Which of the asking rows some row of the index agrees with.

        >>> index = KeyIndex([np.array([7, 8, 7])], 3)
        >>> index.has([np.array([9, 7])], 2).tolist()
        [False, True]
        """
        if len(columns) != 1 or not (self.rows and count):
            matched = np.zeros(count, bool)
            for asking, _ in self.matches(columns, count):
                matched[asking] = True
            return matched
        (codes,) = columns
        if (
            count * _TIMES_FEWER_FOR_INDEX < self.rows and "_sorted" not in self.__dict__
        ):  # not worth sorting many rows
            order = np.argsort(codes)
            return _among(np.sort(self._columns[0][_among(codes[order], self._columns[0])]), codes)
        return _among(self._sorted, codes)

    @cached_property
    def _sorted(self) -> np.ndarray:
        """The codes of the only column."""
        return np.sort(self._columns[0])

    @cached_property
    def _run(self) -> SortedRun:
        keys = pa.array(_one(self._columns))
        return SortedRun.of(
            pa.RecordBatch.from_arrays([keys, pa.array(np.arange(self.rows))], [KEY, _ROW]), KEY
        )

    @cached_property
    def _numbers(self) -> np.ndarray:
        return self._run.batch[_ROW].to_numpy()


Indexes: TypeAlias = dict[tuple[int, tuple[int, ...]], KeyIndex]  # by port and groups


def _among(ordered: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Which of some codes are among others, which are sorted."""
    if not len(ordered):
        return np.zeros(len(codes), bool)
    places = np.searchsorted(ordered, codes)
    among: np.ndarray = ordered.take(places, mode="clip") == codes
    return among


def _one(columns: Sequence[np.ndarray]) -> np.ndarray:
    """One number for each row, spread evenly; rows that agree in all columns have the same."""
    total = mix(columns[0].view(np.uint64))
    for column in columns[1:]:
        total = mix(total * _STEP + column.view(np.uint64))
    return total.view(np.int64)


def distinct(columns: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """One row of each kind, and for every row the number of its kind; seldom a kind has two numbers.

    Rows are brought together by hash, and neighbours are compared: where two kinds have one hash, rows of one
    may lie apart.

    >>> firsts, kinds = distinct([np.array([5, 4, 5]), np.array([1, 1, 1])], 3)
    >>> len(firsts), bool(kinds[0] == kinds[2]), bool(kinds[0] == kinds[1])
    (2, True, False)
    """
    if not count:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if not columns:
        return np.zeros(1, np.int64), np.zeros(count, np.int64)
    order = np.argsort(_one(columns))
    new = np.zeros(count, bool)
    new[0] = True
    for column in columns:
        ordered = column.take(order)
        new[1:] |= ordered[1:] != ordered[:-1]
    kinds = np.empty(count, np.int64)
    kinds[order] = np.cumsum(new) - 1
    return order[new], kinds
