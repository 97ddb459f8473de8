"""What an aggregate is over: expressions of the row, or a user's function of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import Column, Expression, shift_columns
from seine.evaluate.evaluate import evaluate
from seine.rows.grouping import as_mask, normalise


@dataclass(frozen=True)
class Argument:
    """Columns that events carry: the expressions, then what `derive` makes of them.

    A row with a NULL in any of the expressions is left out by every aggregate. Without
    `distinct` the derived column stands alone. A user's function that fails gives NULL.
    """

    expressions: tuple[Expression, ...]
    derive: Callable[..., IntArray] | None = None
    derived: pa.DataType | None = None
    distinct: bool = False
    owner: str = ""  # the user's aggregate that `derive` belongs to, for notices
    part: str = ""  # and the part of it

    def label(self, width: int) -> str:
        """What tells it from others over the same columns, less so many: the same in every process."""
        moved = (shift_columns(e, lambda index: index - width) for e in self.expressions)
        return ":".join([self.owner, self.part, *map(str, moved)])

    @property
    def types(self) -> list[pa.DataType]:
        own = [expression.type.arrow() for expression in self.expressions]
        if self.derived is None:
            return own
        return [*own, self.derived] if self.distinct else [self.derived]

    def columns(
        self, columns: Sequence[pa.Array], num_rows: int, notice: Callable[[str], None]
    ) -> list[pa.Array]:
        own = [normalise(value_of(e, columns, num_rows)) for e in self.expressions]
        if self.derive is None:
            return own
        made = self._made(own, num_rows, notice)
        return [*own, made] if self.distinct else [made]

    def _made(self, own: list[pa.Array], num_rows: int, notice: Callable[[str], None]) -> pa.Array:
        known = complete(own, num_rows)
        try:
            values = self._apply([array.filter(pa.array(known)) for array in own], int(known.sum()))
        except Exception as error:  # a user's code may raise anything
            notice(f"{self.owner}: {type(error).__name__}: {error}")
            return pa.nulls(num_rows, self.derived)
        places = np.cumsum(known) - 1
        return values.take(pa.array(np.maximum(places, 0), mask=~known))

    def _apply(self, own: list[pa.Array], num_rows: int) -> pa.Array:
        assert self.derive is not None
        made = np.asarray(self.derive(*(as_numpy(array) for array in own)))
        if made.shape != (num_rows,):
            raise ValueError(f"expected {num_rows} values, got an array of shape {made.shape}")
        return normalise(pa.array(made, from_pandas=False).cast(self.derived))


def value_of(expression: Expression, columns: Sequence[pa.Array], num_rows: int) -> pa.Array:
    """An expression's value in each row; a column as it is."""
    if isinstance(expression, Column):
        return columns[expression.index]
    return evaluate(expression, columns, num_rows)


def as_numpy(array: pa.Array) -> IntArray:
    """What a user's function sees; DECIMAL as float64."""
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.float64())
    return array.to_numpy(zero_copy_only=False)


def complete(arrays: Sequence[pa.Array], num_rows: int) -> IntArray:
    """The rows without a NULL."""
    mask = np.ones(num_rows, bool)
    for array in arrays:
        if array.null_count:
            mask &= as_mask(array.is_valid())
    return mask
