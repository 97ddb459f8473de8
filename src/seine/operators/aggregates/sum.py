"""SUM, exactly: no order of additions shows, and what has left leaves no trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.operators.aggregates.fold import Changes
from seine.operators.aggregates.splits import Piece
from seine.operators.limbs import Limbs, from_lists, to_lists


class Total(NamedTuple):
    """Sums at all places: sign, magnitude, and how many NaN, +infinity and -infinity are among the values."""

    sign: np.ndarray
    size: Limbs
    nan: np.ndarray
    up: np.ndarray
    down: np.ndarray


class Sum:
    """Keeps an exact integer, and counts of what is not finite."""

    state: tuple[pa.DataType, ...] = (pa.list_(pa.int64()), pa.int64(), pa.int64(), pa.int64())

    def __init__(self, split: Callable[[pa.Array], Iterator[Piece]]) -> None:
        self._split = split

    def advance(self, changes: Changes, start: list[pa.Array]) -> tuple[Total, list[pa.Array]]:
        sums, *specials = start
        sign, size = self._run(changes, from_lists(sums)).normal()
        odd = self._odd(changes, [column.fill_null(0).to_numpy() for column in specials])
        last = changes.layout.last
        kept = [to_lists(sign[last], size.take(last)), *(pa.array(counts[last]) for counts in odd)]
        return Total(sign, size, *odd), kept

    def _run(self, changes: Changes, start: Limbs) -> Limbs:
        pieces = list(self._split(changes.values[-1]))
        low = min([start.low, *(int(p.min()) for p, _ in pieces if len(p))])
        high = max([start.low + len(start.matrix) - 1, *(int(p.max()) for p, _ in pieces if len(p))])
        deltas = np.zeros((high - low + 1, len(changes.places)), np.int64)
        columns = np.arange(len(changes.places))
        for place, amount in pieces:
            deltas[place - low, columns] += amount * changes.weights
        matrix = np.zeros((len(deltas), changes.layout.size), np.int64)
        for j, delta in enumerate(deltas):
            inside = 0 <= j + low - start.low < len(start.matrix)
            base = start.matrix[j + low - start.low] if inside else np.zeros(start.count, np.int64)
            matrix[j] = changes.running(delta, base)
        return Limbs(matrix, low)

    def _odd(self, changes: Changes, start: list[np.ndarray]) -> list[np.ndarray]:
        values = changes.values[-1]
        if not pa.types.is_floating(values.type):
            return [np.zeros(changes.layout.size, np.int64)] * 3
        numbers = values.to_numpy()
        flags = [np.isnan(numbers), np.isposinf(numbers), np.isneginf(numbers)]
        return [
            changes.running(flag * changes.weights, base) for flag, base in zip(flags, start, strict=True)
        ]
