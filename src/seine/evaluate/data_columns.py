"""The data columns of a batch by logical position, with what was computed over them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Call, Column, Expression, columns_of
from seine.evaluate.evaluate import evaluate
from seine.evaluate.kernels.decimals import magnitude
from seine.evaluate.linear_sums import exact_sum_limit, integer_weights
from seine.evaluate.ordinals import OWN, Coder

_SUBSET_FRACTION = 4  # what is asked of less than a quarter of the rows is computed for those alone,
_MIN_ROWS_FOR_SUBSET = 1000  # except in a batch of fewer rows


class Codes(NamedTuple):
    """Codes of an expression's values, and where it is not NULL (None: nowhere NULL)."""

    codes: np.ndarray
    valid: np.ndarray | None


class DataColumns:
    """`columns[i]` is the batch's column `c{i}`; a batch has only the positions that someone needs.

    `memo` keeps values of expressions over this batch, for all who evaluate the same one.

    >>> columns = DataColumns(pa.record_batch({"c0": [1, 2], "c7": [3, 4]}))
    >>> columns[7].to_pylist()
    [3, 4]
    """

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self.num_rows = batch.num_rows
        self._places = {name: i for i, name in enumerate(batch.schema.names)}
        self.memo: dict[Expression, pa.Array] = {}
        self._codes: dict[tuple[Expression, Coder], Codes] = {}

    def __getitem__(self, index: int) -> pa.Array:
        return self._batch.column(self._places[f"c{index}"])

    def values(self, expression: Expression, rows: np.ndarray | None = None) -> pa.Array:
        """The expression's value in each row, or in some; computed once if it is for most."""
        if isinstance(expression, Column):
            known = self[expression.index]
        else:
            known = self.memo.get(expression)
            if known is None and rows is not None and self._are_few(rows):
                return evaluate(expression, self.picked(expression, rows), len(rows))
            if known is None:
                known = self.memo[expression] = evaluate(expression, self, self.num_rows)
        return known if rows is None else known.take(pa.array(rows))

    def codes(self, expression: Expression, coder: Coder, rows: np.ndarray | None = None) -> Codes:
        """The codes of an expression's values in each row, or in some; computed once if it is for most."""
        known = self._codes.get((expression, coder))
        if known is None:
            if rows is not None and self._are_few(rows):
                return self._coded(expression, coder, rows)
            known = self._codes[expression, coder] = self._coded(expression, coder)
        if rows is None:
            return known
        return Codes(known.codes[rows], None if known.valid is None else known.valid[rows])

    def _coded(self, expression: Expression, coder: Coder, rows: np.ndarray | None = None) -> Codes:
        made = self._summed(expression, rows) if coder is OWN and isinstance(expression, Call) else None
        return _codes(self.values(expression, rows), coder) if made is None else made

    def _summed(self, sum_: Call, rows: np.ndarray | None) -> Codes | None:
        """The codes of a linear function, made of its arguments'; None if they may not fit 64 bits."""
        weights = integer_weights(sum_)
        if weights is None:
            return None
        total, valid, largest = np.zeros(1, np.int64), None, 0
        for arg, weight in zip(sum_.args, weights, strict=True):
            codes, known = self.codes(arg, OWN, rows)
            largest += abs(weight) * magnitude(codes)
            if largest >= exact_sum_limit(sum_.type):
                return None
            total = total + weight * codes
            if known is not None:
                valid = known if valid is None else valid & known
        return Codes(total, valid)

    def _are_few(self, rows: np.ndarray) -> bool:
        return len(rows) * _SUBSET_FRACTION < self.num_rows and self.num_rows > _MIN_ROWS_FOR_SUBSET

    def picked(self, expression: Expression, rows: np.ndarray) -> dict[int, pa.Array]:
        """The columns that an expression reads, at some rows; a row may occur often."""
        at = pa.array(rows)
        return {i: self[i].take(at) for i in columns_of(expression)}


def _codes(array: pa.Array, coder: Coder) -> Codes:
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    return Codes(coder.encode(array), valid)
