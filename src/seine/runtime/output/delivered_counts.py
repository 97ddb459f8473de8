"""The queries that have records in a task: a number for each, and sums by number.

    numbered(["q7", "q2"])    [0, 1]        names      ["q7", "q2", "q9"]
    numbered(["q2", "q9"])    [1, 2]        records    [2, 3, 1]

A batch may have records of ten thousands of queries, a few each: numbers are looked up and sums are made for
all of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seine.algebra.arrays import AnyArray, IntArray

_LEAST_GROWTH = 64  # queries


class DeliveredCounts:
    """Numbers of queries in the order in which they come, and how much each has delivered."""

    def __init__(self) -> None:
        self.names: list[str] = []  # by number
        self._numbers: dict[str, int] = {}
        self._records = np.zeros(0, np.int64)
        self._bytes = np.zeros(0, np.int64)

    def numbered(self, queries: Sequence[str]) -> IntArray:
        """The number of each of these queries; one that was not there gets the next."""
        known = self._numbers
        fresh = list(dict.fromkeys(query for query in queries if query not in known))
        if fresh:
            known.update(zip(fresh, range(len(known), len(known) + len(fresh)), strict=True))
            self.names += fresh
            self._grow()
        return np.fromiter(map(known.__getitem__, queries), np.int32, len(queries))

    def number(self, query: str) -> int:
        """The number of one query; ten times quicker than an array of one."""
        number = self._numbers.setdefault(query, len(self.names))
        if number == len(self.names):
            self.names.append(query)
            self._grow()
        return number

    def add_records(self, numbers: IntArray | list[int], records: IntArray | int) -> None:
        """Count records of queries; of a query that occurs several times, each time."""
        np.add.at(self._records, numbers, records)

    def add_bytes(self, numbers: IntArray, sizes: IntArray) -> IntArray:
        """Count bytes of queries that are all different; what each of them has now."""
        self._bytes[numbers] += sizes
        return self._bytes[numbers]

    def records(self, numbers: IntArray) -> IntArray:
        """How many records queries have."""
        return self._records[numbers]

    def by_name(self) -> dict[str, int]:
        """How many records each query has, in the order of their numbers."""
        return dict(zip(self.names, self._records[: len(self.names)].tolist(), strict=True))

    def _grow(self) -> None:
        more = len(self.names) - len(self._records)
        if more > 0:
            more = max(more, len(self._records), _LEAST_GROWTH)
            self._records, self._bytes = _padded(self._records, more), _padded(self._bytes, more)


def _padded(sums: AnyArray, more: int) -> AnyArray:
    return np.concatenate([sums, np.zeros(more, sums.dtype)])
