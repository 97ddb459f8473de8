"""Output buffers of joins: the partial results that joins above them may still extend.

Cites: SKWS 3.3
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray


@dataclass(frozen=True)
class PartialResults:
    """Combinations of m tuples, as arrays: the operator that made each, its tuples, and its life.

    `since` is the step of its latest tuple, which may be before the step in which the row was made: an
    operator that slept catches up.
    """

    operator: IntArray
    numbers: IntArray  # of tuples, a column for each position
    start: IntArray
    end: IntArray
    since: IntArray

    @classmethod
    def empty(cls, size: int) -> PartialResults:
        """No rows."""
        none = np.empty(0, np.int64)
        return cls(none, np.empty((0, size), np.int64), none, none, none)

    def __len__(self) -> int:
        return len(self.operator)

    def rows(self, chosen: IntArray | BoolArray) -> PartialResults:
        """Some of the rows."""
        columns = (self.operator, self.numbers, self.start, self.end, self.since)
        return PartialResults(*(column[chosen] for column in columns))

    def joined(self, others: Iterable[PartialResults]) -> PartialResults:
        """These rows, and others behind them."""
        rows = [self, *others]
        names = ("operator", "numbers", "start", "end", "since")
        return PartialResults(*(np.concatenate([getattr(one, name) for one in rows]) for name in names))
