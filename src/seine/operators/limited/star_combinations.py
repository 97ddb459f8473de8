"""Late-materialised join results: combinations of tuples by row number, columns gathered when they are read.

    items     r    edges   s               one row number of each item joined so far
    rows      3    17      0      ──>      columns of r[3], edges[17], s[0], side by side
              3    18      4

Law: `extended(start, probes)` gives every combination of a combination of `start` with one tuple of each
probed item whose keys are equal, whose conditions hold, and whose lifetimes overlap: the latest start is
before the earliest end up to which a tuple resides.

The importance of results: the minimum, sum or product of the importances of their stream tuples.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import FloatArray, IntArray
from seine.algebra.expressions import Expression
from seine.algebra.star import Probe, Star
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import evaluate, truth
from seine.operators.join.combination import GatheredRows
from seine.operators.state.relation_index import RelationIndex
from seine.rows.column_arrays import to_doubles
from seine.rows.delta import ARRIVAL_NUMBER, FOREVER, NEVER, concat_batches
from seine.shedding.policy import Arrivals, Evictions


@dataclass(frozen=True)
class TupleLives:
    """Lifetimes of tuples: their start, until when they reside in memory, and their natural end."""

    start: IntArray
    resides: IntArray
    end: IntArray

    def take(self, rows: IntArray) -> TupleLives:
        """The lifetimes of the given rows."""
        return TupleLives(self.start[rows], self.resides[rows], self.end[rows])

    def __and__(self, other: TupleLives) -> TupleLives:
        """The intersections, pairwise: the lifetimes of combinations."""
        return TupleLives(
            np.maximum(self.start, other.start),
            np.minimum(self.resides, other.resides),
            np.minimum(self.end, other.end),
        )

    @staticmethod
    def always(count: int) -> TupleLives:
        """Unbounded lifetimes."""
        return TupleLives(np.full(count, NEVER), np.full(count, FOREVER), np.full(count, FOREVER))


@dataclass(frozen=True)
class Partners:
    """The build side of a probe: an index of an item's tuples by a key and, of a stream, their lifetimes.

    If `count` is given, only the first `count` tuples take part.
    """

    index: RelationIndex
    lives: TupleLives | None = None
    count: int | None = None


class Combinations(DataColumns):
    """Combinations as columns of the star's row: all items side by side."""

    def __init__(
        self,
        star: Star,
        batches: Mapping[int, pa.RecordBatch],
        rows: Mapping[int, IntArray],
        lives: TupleLives,
    ) -> None:
        super().__init__(pa.RecordBatch.from_arrays([], []))
        self.num_rows = len(lives.start)
        self.rows, self.lives = rows, lives
        self._star, self._batches = star, batches
        self._starts = [item.start for item in star.items]
        self._columns: dict[int, pa.Array] = {}

    def __getitem__(self, index: int) -> pa.Array:
        if index not in self._columns:
            number = bisect_right(self._starts, index) - 1
            item = self._star.items[number]
            tuples = GatheredRows(self._batches[number], self.rows[number])
            self._columns[index] = tuples.data(index - item.start, item.types[index - item.start])
        return self._columns[index]

    def take(self, kept: IntArray) -> Combinations:
        """The combinations at the given places."""
        rows = {item: numbers[kept] for item, numbers in self.rows.items()}
        return Combinations(self._star, self._batches, rows, self.lives.take(kept))

    def joined(self, item: int, partners: Partners, at: IntArray, tuples: IntArray) -> Combinations:
        """The combinations at the given places, each with a tuple of one more item."""
        lives = self.lives.take(at)
        if partners.lives is not None:
            lives &= partners.lives.take(tuples)
        rows = {**{one: numbers[at] for one, numbers in self.rows.items()}, item: tuples}
        return Combinations(self._star, {**self._batches, item: partners.index.batch}, rows, lives)

    def where(self, conditions: Sequence[Expression]) -> Combinations:
        """The combinations that have a lifetime and satisfy conditions."""
        alive = self.lives.start < self.lives.resides
        chosen = self if alive.all() else self.take(np.flatnonzero(alive))
        for condition in conditions:
            holds = truth(condition, chosen, chosen.num_rows)
            chosen = chosen if holds.all() else chosen.take(np.flatnonzero(holds))
        return chosen


def extended(
    combinations: Combinations, probes: Sequence[Probe], partners: Sequence[Partners]
) -> Iterator[Combinations]:
    """Index nested-loop joins, one probe after the other; yields the results in chunks of bounded size."""
    if not probes or not combinations.num_rows:
        if combinations.num_rows:
            yield combinations
        return
    probe, others = probes[0], partners[0]
    keys = [evaluate(e, combinations, combinations.num_rows) for e in probe.bound_key]
    for at, tuples in others.index.candidates(keys, combinations.num_rows):
        if others.count is not None:
            early = tuples < others.count
            at, tuples = at[early], tuples[early]
        more = combinations.joined(probe.item, others, at, tuples).where(probe.conditions)
        yield from extended(more, probes[1:], partners[1:])


_COMBINED: dict[str, Callable[..., FloatArray]] = {"min": np.minimum, "sum": np.add, "product": np.multiply}


@np.errstate(over="ignore")  # it is infinite then
def importance_of(combinations: Combinations, star: Star, how: str) -> FloatArray:
    """The importance of each combination; 1 if no stream has IMPORTANCE BY."""
    total: FloatArray | None = None
    for item in star.items:
        if item.importance is not None:
            column = to_doubles(combinations[item.start + item.importance])
            total = column if total is None else _COMBINED[how](total, column)
    return np.ones(combinations.num_rows) if total is None else total


@np.errstate(over="ignore")
def importance_of_all(combinations: Combinations, star: Star, how: str) -> float:
    """The sum of the importances of combinations."""
    return float(importance_of(combinations, star, how).sum())


START, END, UNTIL = "_s", "_e", "_u"


@dataclass(frozen=True)
class ArrivedTuples:
    """Arrivals of one stream in the order of event time: the useful tuples, and all for the shedder."""

    batch: pa.RecordBatch
    arrivals: Arrivals

    def between(self, begin: int, end: int) -> ArrivedTuples:
        """The arrivals that start in [begin, end)."""
        first, last = np.searchsorted(self.batch[START].to_numpy(), [begin, end]).tolist()
        return ArrivedTuples(
            self.batch[first:last],
            self.arrivals.slice(*np.searchsorted(self.arrivals.ts, [begin, end]).tolist()),
        )


@dataclass(frozen=True)
class Residents:
    """The first `old` tuples were held before; `gone` is when each was evicted, FOREVER if it was not."""

    batch: pa.RecordBatch
    old: int
    gone: IntArray

    @staticmethod
    def of(held: pa.RecordBatch, new: pa.RecordBatch, evicted: Evictions) -> Residents:
        """What was held, then the new tuples, with the evictions among both."""
        whole = concat_batches([held, new])
        gone = np.full(whole.num_rows, FOREVER)
        numbers = whole[ARRIVAL_NUMBER].to_numpy()
        order = np.argsort(numbers)
        gone[order[np.searchsorted(numbers, evicted.number, sorter=order)]] = evicted.at
        return Residents(whole, held.num_rows, gone)

    @cached_property
    def lives(self) -> TupleLives:
        """Lifetimes: a tuple joins at its own instant, admitted or not, and later while it resides."""
        start, end = self.batch[START].to_numpy(), self.batch[END].to_numpy()
        return TupleLives(start, np.minimum(end, np.maximum(self.gone, start + 1)), end)

    @cached_property
    def ends(self) -> IntArray:
        """When each leaves by itself: it expires, or nothing new can match it."""
        ends: IntArray = np.minimum(self.batch[END].to_numpy(), self.batch[UNTIL].to_numpy())
        return ends

    @cached_property
    def leaves(self) -> IntArray:
        """When each is no longer held."""
        return np.minimum(self.ends, self.gone)

    def after(self, instant: int) -> pa.RecordBatch:
        """The tuples that are held after an instant."""
        kept = (self.gone == FOREVER) & (self.leaves > instant)
        return self.batch.take(pa.array(np.flatnonzero(kept)))

    def held_at(self, instants: IntArray) -> IntArray:
        """How many tuples were held at each instant, after its arrivals."""
        admitted = self.gone > self.lives.start
        starts, ends = np.sort(self.lives.start[admitted]), np.sort(self.leaves[admitted])
        return np.searchsorted(starts, instants, "right") - np.searchsorted(ends, instants, "right")


def most_held(residents: Sequence[Residents]) -> int:
    """The most tuples that all windows together held at an instant with arrivals."""
    arrived = [window.lives.start[window.old :] for window in residents]
    instants = np.unique(np.concatenate(arrived))
    if not len(instants):
        return 0
    held = np.sum([window.held_at(instants) for window in residents], axis=0)
    return int(held.max())
