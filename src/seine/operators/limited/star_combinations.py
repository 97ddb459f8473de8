"""Combinations of tuples, one of each item bound so far: by number, gathered when asked for.

Law: `extended(start, way)` gives every combination of a combination of `start` with one tuple of each item
of the way whose keys are equal, whose conditions hold, and whose lives overlap: the latest start is before
the earliest end up to which its tuples reside.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Expression
from seine.algebra.star import Probe, Star
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import evaluate, truth
from seine.operators.join.combination import GatheredRows
from seine.operators.state.relation_index import RelationIndex
from seine.rows.delta import FOREVER, NEVER


@dataclass(frozen=True)
class TupleLives:
    """Of tuples: when they start, until when others meet them, and when their lives end by themselves."""

    start: np.ndarray
    resides: np.ndarray
    end: np.ndarray

    def take(self, rows: np.ndarray) -> TupleLives:
        return TupleLives(self.start[rows], self.resides[rows], self.end[rows])

    def __and__(self, other: TupleLives) -> TupleLives:
        """The lives of combinations."""
        return TupleLives(
            np.maximum(self.start, other.start),
            np.minimum(self.resides, other.resides),
            np.minimum(self.end, other.end),
        )

    @staticmethod
    def always(count: int) -> TupleLives:
        return TupleLives(np.full(count, NEVER), np.full(count, FOREVER), np.full(count, FOREVER))


@dataclass(frozen=True)
class Partners:
    """The tuples of an item that may join: an index of them by a key, and, of a stream, their lives.

    Only the first `count` of them count, if it is given.
    """

    index: RelationIndex
    lives: TupleLives | None = None
    count: int | None = None


class Combinations(DataColumns):
    """Combinations as columns of the star's row."""

    def __init__(
        self,
        star: Star,
        batches: Mapping[int, pa.RecordBatch],
        rows: Mapping[int, np.ndarray],
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

    def take(self, kept: np.ndarray) -> Combinations:
        rows = {item: numbers[kept] for item, numbers in self.rows.items()}
        return Combinations(self._star, self._batches, rows, self.lives.take(kept))

    def joined(self, item: int, partners: Partners, at: np.ndarray, found: np.ndarray) -> Combinations:
        """Combinations at these places, each with a tuple of one more item."""
        lives = self.lives.take(at)
        if partners.lives is not None:
            lives &= partners.lives.take(found)
        rows = {**{one: numbers[at] for one, numbers in self.rows.items()}, item: found}
        return Combinations(self._star, {**self._batches, item: partners.index.batch}, rows, lives)

    def where(self, conditions: Sequence[Expression]) -> Combinations:
        """Those that live and satisfy conditions."""
        alive = self.lives.start < self.lives.resides
        chosen = self if alive.all() else self.take(np.flatnonzero(alive))
        for condition in conditions:
            holds = truth(condition, chosen, chosen.num_rows)
            chosen = chosen if holds.all() else chosen.take(np.flatnonzero(holds))
        return chosen


def extended(
    combinations: Combinations, way: Sequence[Probe], partners: Sequence[Partners]
) -> Iterator[Combinations]:
    """The combinations with one tuple of each item of a way, in pieces of bounded size."""
    if not way or not combinations.num_rows:
        if combinations.num_rows:
            yield combinations
        return
    probe, others = way[0], partners[0]
    keys = [evaluate(e, combinations, combinations.num_rows) for e in probe.bound_key]
    for at, found in others.index.candidates(keys, combinations.num_rows):
        if others.count is not None:
            early = found < others.count
            at, found = at[early], found[early]
        more = combinations.joined(probe.item, others, at, found).where(probe.conditions)
        yield from extended(more, way[1:], partners[1:])
