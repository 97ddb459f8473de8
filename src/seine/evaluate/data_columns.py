"""The data columns of a batch by position, with a cache of expression values computed over them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.expressions import Call, Column, Expression, columns_of
from seine.evaluate.evaluate import evaluate
from seine.evaluate.kernels.decimals import magnitude
from seine.evaluate.kernels.ordinals import VALUE_CODES, Coder
from seine.evaluate.linear_sums import exact_sum_limit, integer_weights

_SUBSET_FRACTION = 4  # values for less than a quarter of the rows are computed for those alone,
_MIN_ROWS_FOR_SUBSET = 1000  # in a batch of more rows than this


class Codes(NamedTuple):
    """Order-preserving codes of an expression's values, and where it is not NULL (None: nowhere NULL)."""

    codes: IntArray
    valid: BoolArray | None


class DataColumns:
    """The data columns of a batch: `columns[i]` is `c{i}`; only the columns that are read exist.

    `memo` caches values of expressions over this batch, for all consumers that evaluate the same one.

    >>> columns = DataColumns(pa.record_batch({"c0": [1, 2], "c7": [3, 4]}))
    >>> columns[7].to_pylist()
    [3, 4]
    """

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self.num_rows: int = batch.num_rows
        self._places = {name: i for i, name in enumerate(batch.schema.names)}
        self.memo: dict[Expression, pa.Array] = {}
        self._codes: dict[tuple[Expression, Coder], Codes] = {}

    def __getitem__(self, index: int) -> pa.Array:
        return self._batch.column(self._places[f"c{index}"])

    def values(self, expression: Expression, rows: IntArray | None = None) -> pa.Array:
        """The values of an expression in all rows, or in the given ones; cached unless those are few."""
        if isinstance(expression, Column):
            cached: pa.Array | None = self[expression.index]
        else:
            cached = self.memo.get(expression)
        if cached is None and rows is not None and self._are_few(rows):
            return evaluate(expression, self.picked(expression, rows), len(rows))
        if cached is None:
            cached = self.memo[expression] = evaluate(expression, self, self.num_rows)
        return cached if rows is None else cached.take(pa.array(rows))

    def codes(self, expression: Expression, coder: Coder, rows: IntArray | None = None) -> Codes:
        """The codes of an expression in all rows, or in the given ones; cached unless those are few."""
        cached = self._codes.get((expression, coder))
        if cached is None:
            if rows is not None and self._are_few(rows):
                return self._coded(expression, coder, rows)
            cached = self._codes[expression, coder] = self._coded(expression, coder)
        if rows is None:
            return cached
        return Codes(cached.codes[rows], None if cached.valid is None else cached.valid[rows])

    def _coded(self, expression: Expression, coder: Coder, rows: IntArray | None = None) -> Codes:
        summed = (
            self._summed(expression, rows) if coder is VALUE_CODES and isinstance(expression, Call) else None
        )
        return _codes(self.values(expression, rows), coder) if summed is None else summed

    def _summed(self, sum_: Call, rows: IntArray | None) -> Codes | None:
        """The codes of a linear function from those of its arguments; None if 64 bits may overflow."""
        weights = integer_weights(sum_)
        if weights is None:
            return None
        total: IntArray = np.zeros(1, np.int64)
        valid: BoolArray | None = None
        largest = 0
        for arg, weight in zip(sum_.args, weights, strict=True):
            codes, defined = self.codes(arg, VALUE_CODES, rows)
            largest += abs(weight) * magnitude(codes)
            if largest >= exact_sum_limit(sum_.type):
                return None
            total = total + weight * codes
            if defined is not None:
                valid = defined if valid is None else valid & defined
        return Codes(total, valid)

    def _are_few(self, rows: IntArray) -> bool:
        return len(rows) * _SUBSET_FRACTION < self.num_rows and self.num_rows > _MIN_ROWS_FOR_SUBSET

    def picked(self, expression: Expression, rows: IntArray) -> dict[int, pa.Array]:
        """The columns that an expression reads, gathered at some rows, which may repeat."""
        at = pa.array(rows)
        return {i: self[i].take(at) for i in columns_of(expression)}


def _codes(array: pa.Array, coder: Coder) -> Codes:
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    return Codes(coder.encode(array), valid)
