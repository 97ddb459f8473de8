"""COUNT: a counter that goes up with every value that appears and down with every one that leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.aggregates.fold import Changes, FoldState
from seine.operators.state.keyed_table import KeyedMatches


class Count:
    """The accumulator is one number, the count of live values."""

    state: tuple[pa.DataType, ...] = (pa.int64(),)
    parts = state

    def advance(
        self, changes: Changes, stored: KeyedMatches, names: Sequence[str]
    ) -> tuple[IntArray, FoldState]:
        counts = changes.running(_amounts(changes), stored.numbers(names[0]))
        return counts, [counts[changes.layout.last]]

    def part(self, changes: Changes, value: Any, start: pa.Array | None) -> list[pa.Array]:
        return [pa.array(changes.sums(_amounts(changes)))]


def _amounts(changes: Changes) -> IntArray:
    """By how much each change moves the count."""
    return changes.values[0].to_numpy() if changes.are_partials else changes.weights
