"""Equal values of new documents and of an index, as ranges of index rows instead of pairs.

The index of held documents is sorted by value, within it by pattern, and within that by time:

    value  pattern        time                      a new document has value h1 at /item/channel, time 9:
    h1     /item/channel  2  4  7  8                  one segment, of the pattern /item/channel: 2 4 7 8
    h1     /item/title    5                           one of the pattern /item/title: 5
    h2     ...                                      T = 6, FOLLOWED BY: of the first, 4 7 8

What holds for a segment is looked at once for all its rows: which edge it is, and, by binary search, which
rows are near enough in time. A value that very many documents share costs a few looks, and then its matches.

Law: the rows of all segments are, for each witness that probes, the rows of the run with its value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.documents.held_documents import INDEX_PATTERN
from seine.operators.documents.join_classes import time_apart
from seine.operators.state.sorted_run import ProbeKeys, SortedRun


class ValueSegments(NamedTuple):
    """Ranges [low, high) of rows of a run with one value and one pattern, each beside a probing witness."""

    probe: IntArray
    low: IntArray
    high: IntArray

    def take(self, places: IntArray) -> ValueSegments:
        return ValueSegments(*(column[places] for column in self))


def segments_of(run: SortedRun, probe: ProbeKeys) -> ValueSegments:
    """The segments of a run that have the values of a probe."""
    pattern = run.batch[INDEX_PATTERN].to_numpy()
    left = ValueSegments(*run.key_ranges(probe))
    pieces = []
    while len(left.probe):  # once for each pattern of the value with the most
        ends = left.high.copy()
        here = pattern[left.low]
        mixed = np.flatnonzero(pattern[left.high - 1] != here)
        if len(mixed):
            ends[mixed] = _first(left.low[mixed], ends[mixed], _above(pattern, here[mixed]))
        pieces.append(left._replace(high=ends))
        left = left._replace(low=ends).take(np.flatnonzero(ends < left.high))
    if not pieces:
        return left
    return ValueSegments(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def near_in_time(
    segments: ValueSegments, starts: IntArray, times: IntArray, low: IntArray, high: IntArray
) -> tuple[ValueSegments, IntArray]:
    """The parts of segments whose rows begin `low` to `high` after the times of their witnesses.

    `starts` are the times of all rows of the run; the others are those of each segment. Segments without
    such rows are left out: what comes with the rest is their places.
    """
    first, last = segments.low.copy(), segments.high.copy()
    early = np.flatnonzero(time_apart(times, starts[first]) < low)
    first[early] = _first(first[early], last[early], _not_before(starts, times[early], low[early]))
    late = np.flatnonzero(time_apart(times, starts[segments.high - 1]) > high)
    last[late] = _first(first[late], last[late], _not_before(starts, times[late], high[late] + 1))
    near = np.flatnonzero(first < last)
    return ValueSegments(segments.probe[near], first[near], last[near]), near


def _first(low: IntArray, high: IntArray, holds: Callable[[IntArray], BoolArray]) -> IntArray:
    """The first place in each range [low, high) from which on something holds; `high` if there is none."""
    last = int(high.max(initial=1)) - 1
    while (low < high).any():
        middle = np.minimum((low + high) >> 1, last)
        inside, after = low < high, holds(middle)
        high = np.where(inside & after, middle, high)
        low = np.where(inside & ~after, middle + 1, low)
    return low


def _above(values: IntArray, bounds: IntArray) -> Callable[[IntArray], BoolArray]:
    return lambda places: values[places] > bounds


def _not_before(starts: IntArray, times: IntArray, bounds: IntArray) -> Callable[[IntArray], BoolArray]:
    return lambda places: time_apart(times, starts[places]) >= bounds
