"""APPROX_COUNT_DISTINCT by a multiresolution bitmap: occupied cells, counted by level.

A value's hash gives it a level, half of all values the first, a quarter the second and so on, and one of
4,096 cells of its level. How many cells of a level are occupied tells how many distinct values it has (linear
counting); levels that are nearly full are left out, and what the others have is scaled up. The standard error
is about 2 %. State is bounded: at most the cells of all levels, however many values there are.

Law: which cells are occupied depends on the set of live values alone, so an estimate does not depend on order
or batching, and values that leave leave no trace.

The sketch is that of Estan, Varghese and Fisk, Bitmap algorithms for counting active flows (2003).
HyperLogLog keeps a maximum for each register, which a value that expires cannot be taken out of, and the
estimators of libraries (DataSketches' HIP) depend on the order of arrival.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, IntArray
from seine.operators.aggregates.fold import Changes, FoldState
from seine.operators.state.keyed_table import KeyedMatches
from seine.rows.hashing import hash_columns

CELLS = 4_096  # of each level
LEVELS = 20
_MOST_OCCUPIED = 3_500  # cells of a level that still tells something


def cells_of(*arguments: AnyArray) -> AnyArray:
    """The cell of each value: its level times `CELLS`, and its number there."""
    columns = [pa.array(argument) for argument in arguments]
    hashes = hash_columns(columns, len(arguments[0])).view(np.uint64)
    upper = (hashes >> np.uint64(32)).astype(np.float64)
    level = np.minimum(32 - np.frexp(upper)[1], LEVELS - 1)
    cells: AnyArray = level.astype(np.int64) * CELLS + (hashes % np.uint64(CELLS)).astype(np.int64)
    return cells


@dataclass(frozen=True)
class OccupiedCells:
    """How many cells of each level (a row each) are occupied at each place."""

    counts: IntArray

    def take(self, places: IntArray) -> OccupiedCells:
        return OccupiedCells(self.counts[:, places])

    def estimate(self) -> IntArray:
        """About how many distinct values there are."""
        free = np.maximum(CELLS - self.counts, 1)
        distinct = CELLS * np.log(CELLS / free)
        full = self.counts > _MOST_OCCUPIED
        first = np.minimum(LEVELS - 1, LEVELS - np.argmax(full[::-1], axis=0)) * full.any(axis=0)
        counted = np.arange(LEVELS)[:, None] >= first
        rounded: IntArray = np.rint((distinct * counted).sum(axis=0) * 2.0**first).astype(np.int64)
        return rounded


class LevelCounts:
    """The accumulator is a number for each level."""

    state: tuple[pa.DataType, ...] = (pa.int64(),) * LEVELS
    parts: tuple[pa.DataType, ...] = ()

    def advance(
        self, changes: Changes, stored: KeyedMatches, names: Sequence[str]
    ) -> tuple[OccupiedCells, FoldState]:
        moved = changes.distinct()
        level = moved.values[-1].to_numpy() // CELLS
        counts = np.stack(
            [
                moved.running(np.where(level == i, moved.weights, 0), stored.numbers(name))
                for i, name in enumerate(names)
            ]
        )
        return OccupiedCells(counts), [row.take(changes.layout.last) for row in counts]

    def part(self, changes: Changes, value: OccupiedCells, start: pa.Array | None) -> list[pa.Array]:
        """It has none: a cell may be occupied in several finer groups."""
        return []
