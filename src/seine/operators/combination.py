"""What a pair of rows must satisfy and what it becomes: one row after another, some columns kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call, Expression, columns_of, conjunction, conjuncts, shift_columns
from seine.algebra.types import BOOLEAN
from seine.operators import hashing
from seine.operators.delta import data_names
from seine.operators.evaluate import evaluate, truth


class Rows:
    """Some rows of a batch, gathered column by column when asked for."""

    def __init__(self, batch: pa.RecordBatch, rows: np.ndarray) -> None:
        self._batch = batch
        self._rows = pa.array(rows)

    def column(self, name: str) -> pa.Array:
        return pc.take(self._batch[name], self._rows, boundscheck=False)


class Combination:
    """Pairs of a left and a right row: equal keys, then a residual over left + right, then `out`.

    Equality of keys is tested by value only where equal hashes don't prove it.
    """

    def __init__(
        self,
        left_width: int,
        left_key: Sequence[Expression],
        right_key: Sequence[Expression],
        residual: Expression | None,
        out: Sequence[int],
    ) -> None:
        self._left_width = left_width
        self._out = tuple(out)
        same_key = (
            [] if hashing.is_exact(k.type for k in left_key) else _equality(left_key, right_key, left_width)
        )
        self._predicate = conjunction(same_key + conjuncts(residual))
        self._tested = sorted(columns_of(self._predicate)) if self._predicate else []

    def columns(self, side: int) -> list[str]:
        """The data columns of a side that pairs need, in order."""
        needed = {*self._tested, *self._out}
        shift = self._left_width if side else 0
        return [f"c{i - shift}" for i in sorted(needed) if (i >= self._left_width) == bool(side)]

    def holds(self, left: Rows, right: Rows, count: int) -> np.ndarray | None:
        """Which pairs satisfy the predicate; None if all do."""
        if self._predicate is None:
            return None
        columns: list[pa.Array | None] = [None] * (max(self._tested, default=-1) + 1)
        for index in self._tested:
            columns[index] = self._column(left, right, index)
        return truth(self._predicate, columns, count)

    def output(self, left: Rows, right: Rows) -> list[tuple[str, pa.Array]]:
        """The data columns of the pairs, with their names."""
        return [(f"c{place}", self._column(left, right, i)) for place, i in enumerate(self._out)]

    def _column(self, left: Rows, right: Rows, index: int) -> pa.Array:
        if index < self._left_width:
            return left.column(f"c{index}")
        return right.column(f"c{index - self._left_width}")


def key_columns(batch: pa.RecordBatch, key: Iterable[Expression], width: int) -> list[pa.Array]:
    """The values of key expressions over the data columns of a batch."""
    columns = [batch[name] for name in data_names(width)]
    return [evaluate(expression, columns, batch.num_rows) for expression in key]


def without_null_keys(batch: pa.RecordBatch, key: Sequence[Expression], width: int) -> pa.RecordBatch:
    """The rows that can equal something."""
    nulls = hashing.null_mask(key_columns(batch, key, width))
    return batch if nulls is None else batch.filter(pa.array(~nulls))


def _equality(left: Sequence[Expression], right: Sequence[Expression], left_width: int) -> list[Expression]:
    moved = [shift_columns(expression, lambda i: i + left_width) for expression in right]
    return [Call("eq", (a, b), BOOLEAN) for a, b in zip(left, moved, strict=True)]
