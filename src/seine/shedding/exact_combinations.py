"""The exact results of a window join of any number of streams: a combination has one tuple of each.

A combination is made by its youngest tuples, at their instant, if the windows of the others hold its older
tuples then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seine.algebra.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class ExactCombinations:
    """For each combination the place of its tuple in every stream, and its importance.

    `starts` has the timestamps of all tuples of each stream.

    >>> ints = lambda *values: np.array(values, np.int64)
    >>> three = ExactCombinations((ints(0), ints(0), ints(0)), (ints(1), ints(3), ints(3)), np.array([2.0]))
    >>> three.instants.tolist(), three.reported([ints(4), ints(3), ints(3)]).tolist()
    ([3], [True])
    >>> three.reported([ints(3), ints(9), ints(9)]).tolist()
    [False]
    """

    places: tuple[IntArray, ...]
    starts: tuple[IntArray, ...]
    importance: FloatArray

    @cached_property
    def instants(self) -> IntArray:
        """When each combination is made: the timestamp of its youngest tuples."""
        youngest: IntArray = np.maximum.reduce(self._times)
        return youngest

    @property
    def _times(self) -> list[IntArray]:
        return [starts[places] for starts, places in zip(self.starts, self.places, strict=True)]

    def older(self, stream: int) -> BoolArray:
        """The combinations whose tuple of a stream is older than the youngest."""
        older: BoolArray = self._times[stream] < self.instants
        return older

    def reported(self, until: Sequence[IntArray]) -> BoolArray:
        """Which remain when each tuple resides in [start, until): all older ones must still reside."""
        kept = np.ones(len(self.importance), bool)
        for stream, ends in enumerate(until):
            kept &= ~self.older(stream) | (ends[self.places[stream]] > self.instants)
        return kept
