"""A hash index over composite keys of integer codes: equal codes stand for equal values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.state.sorted_run import KEY, SortedRun
from seine.operators.state.work_budget import spend_candidates
from seine.rows.grouping import ranges
from seine.rows.hashing import mix

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: a multiplier that spreads bits
_ROW = "row"
_BUILD_RATIO = 8  # if the probe side is so many times smaller, the index is built over it instead


class KeyIndex:
    """Rows by columns of codes, indexed when first probed; without columns every row matches every other.

    >>> index = KeyIndex([np.array([7, 8, 7]), np.array([1, 1, 2])], 3)
    >>> [(a.tolist(), b.tolist()) for a, b in index.matches([np.array([7, 9]), np.array([2, 1])], 2)]
    [([0], [2])]
    """

    def __init__(self, columns: Sequence[IntArray], rows: int) -> None:
        self._columns = columns
        self.rows = rows

    def matches(self, columns: Sequence[IntArray], count: int) -> Iterator[tuple[IntArray, IntArray]]:
        """Pairs (probing row, indexed row) that agree in all columns, in chunks."""
        if not (self.rows and count):
            return
        if not columns:
            for probing, indexed in ranges(np.zeros(count, np.int64), np.full(count, self.rows)):
                spend_candidates(len(probing))
                yield probing, indexed
            return
        if count * _BUILD_RATIO < self.rows and "_run" not in self.__dict__:  # not worth indexing all rows
            for indexed, probing in KeyIndex(columns, count).matches(self._columns, self.rows):
                yield probing, indexed
            return
        for probing, places in self._run.equal_keys(_hashes(columns)):
            indexed = self._numbers.take(places)
            if len(columns) > 1:
                same = np.flatnonzero(
                    np.logical_and.reduce(
                        [
                            probed[probing] == stored[indexed]
                            for probed, stored in zip(columns, self._columns, strict=True)
                        ]
                    )
                )
                probing, indexed = probing.take(same), indexed.take(same)
            yield probing, indexed

    def has(self, columns: Sequence[IntArray], count: int) -> BoolArray:
        """Which of the probing rows have a match: a semi-join.

        >>> index = KeyIndex([np.array([7, 8, 7])], 3)
        >>> index.has([np.array([9, 7])], 2).tolist()
        [False, True]
        """
        if len(columns) != 1 or not (self.rows and count):
            matched = np.zeros(count, bool)
            for probing, _ in self.matches(columns, count):
                matched[probing] = True
            return matched
        (values,) = columns
        if count * _BUILD_RATIO < self.rows and "_sorted" not in self.__dict__:  # not worth sorting all rows
            order = np.argsort(values)
            return _among(np.sort(self._columns[0][_among(values[order], self._columns[0])]), values)
        return _among(self._sorted, values)

    @cached_property
    def _sorted(self) -> IntArray:
        """The sorted codes of the only column."""
        return np.sort(self._columns[0])

    @cached_property
    def _run(self) -> SortedRun:
        keys = pa.array(_hashes(self._columns))
        return SortedRun.of(
            pa.RecordBatch.from_arrays([keys, pa.array(np.arange(self.rows))], [KEY, _ROW]), KEY
        )

    @cached_property
    def _numbers(self) -> IntArray:
        numbers: IntArray = self._run.batch[_ROW].to_numpy()
        return numbers


Indexes: TypeAlias = dict[tuple[int, tuple[int, ...]], KeyIndex]  # by port and groups


def _among(ordered: IntArray, values: IntArray) -> BoolArray:
    """Which values are among sorted codes."""
    if not len(ordered):
        return np.zeros(len(values), bool)
    places = np.searchsorted(ordered, values)
    among: BoolArray = ordered.take(places, mode="clip") == values
    return among


def _hashes(columns: Sequence[IntArray]) -> IntArray:
    """A hash of each row."""
    total = mix(columns[0].view(np.uint64))
    for column in columns[1:]:
        total = mix(total * _GOLDEN + column.view(np.uint64))
    return total.view(np.int64)


def distinct(columns: Sequence[IntArray], count: int) -> tuple[IntArray, IntArray]:
    """A distinct: one row of each kind, and for every row the number of its kind.

    Rows are sorted by hash, and neighbours are compared: where the hashes of two kinds collide, a kind may
    have several numbers.

    >>> firsts, kinds = distinct([np.array([5, 4, 5]), np.array([1, 1, 1])], 3)
    >>> len(firsts), bool(kinds[0] == kinds[2]), bool(kinds[0] == kinds[1])
    (2, True, False)
    """
    if not count:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if not columns:
        return np.zeros(1, np.int64), np.zeros(count, np.int64)
    order = np.argsort(_hashes(columns))
    new = np.zeros(count, bool)
    new[0] = True
    for column in columns:
        ordered = column.take(order)
        new[1:] |= ordered[1:] != ordered[:-1]
    kinds = np.empty(count, np.int64)
    kinds[order] = np.cumsum(new) - 1
    return order[new], kinds
