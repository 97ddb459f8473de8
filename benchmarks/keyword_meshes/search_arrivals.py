"""Tuples as keyword search sees them: stream, keywords, life, and values for the sides of conditions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.keyword_networks.expanded_schema import StreamingSchema

NO_VALUE = -1  # NULL, which joins nothing


@dataclass(frozen=True)
class SearchArrivals:
    """Tuples in the order of their arrival, as arrays.

    `number` ascends, also from one step to the next. `held` is a bitmap of the query's keywords. `values` has
    a column for each of the stream's sides (`condition_sides`): numbers below 2^40 that are equal where the
    compared values are, or NO_VALUE.
    """

    number: IntArray
    stream: IntArray
    held: IntArray
    start: IntArray
    end: IntArray
    values: IntArray

    def __len__(self) -> int:
        return len(self.number)

    def rows(self, chosen: IntArray | BoolArray | slice) -> SearchArrivals:
        """Some of the tuples."""
        columns = (self.number, self.stream, self.held, self.start, self.end, self.values)
        return SearchArrivals(*(column[chosen] for column in columns))


def condition_sides(schema: StreamingSchema) -> IntArray:
    """By stream, padded with -1: the sides of conditions that are at it; condition c has sides 2c and 2c + 1.

    >>> condition_sides(StreamingSchema(("a", "b"), ((0, 1), (0, 0)))).tolist()
    [[0, 2, 3], [1, -1, -1]]
    """
    sides: list[list[int]] = [[] for _ in schema.streams]
    for number, ends in enumerate(schema.conditions):
        for side, stream in enumerate(ends):
            sides[stream].append(2 * number + side)
    widest = max(map(len, sides), default=0)
    return np.array([[*one, *[-1] * (widest - len(one))] for one in sides], np.int64).reshape(-1, widest)
