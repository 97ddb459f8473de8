"""The argument of an aggregate: expressions over the row, or a user-defined function of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, BoolArray
from seine.algebra.expressions import Column, Expression, shift_columns
from seine.evaluate.evaluate import evaluate
from seine.rows.grouping import as_mask, normalise


class ArrowDerivation:
    """A function of Arrow arrays, which leaves notices of what goes wrong in it."""

    def __call__(self, arguments: list[pa.Array], notice: Callable[[str], None]) -> pa.Array:
        raise NotImplementedError


@dataclass(frozen=True)
class Argument:
    """Columns that events carry for an aggregate: its expressions, then what `derive` computes of them.

    A row with a NULL in any of the expressions is left out by every aggregate. Without `distinct` only the
    derived column is carried. A function of Arrow arrays leaves notices; others are of NumPy's.
    """

    expressions: tuple[Expression, ...]
    derive: Callable[..., AnyArray] | ArrowDerivation | None = None
    derived: pa.DataType | None = None
    distinct: bool = False
    owner: str = ""  # the user-defined aggregate that `derive` belongs to, for notices
    part: str = ""  # and the part of that aggregate

    def label(self, width: int) -> str:
        """A name that identifies it in every process; columns are numbered from `width` on."""
        moved = (shift_columns(e, lambda index: index - width) for e in self.expressions)
        return ":".join([self.owner, self.part, *map(str, moved)])

    @property
    def types(self) -> list[pa.DataType]:
        """The types of the columns."""
        types = [expression.type.arrow() for expression in self.expressions]
        if self.derived is None:
            return types
        return [*types, self.derived] if self.distinct else [self.derived]

    def columns(
        self, columns: Sequence[pa.Array], num_rows: int, notice: Callable[[str], None]
    ) -> list[pa.Array]:
        """The columns for the rows of a batch."""
        values = [normalise(value_of(e, columns, num_rows)) for e in self.expressions]
        if self.derive is None:
            return values
        derived = self._derived(values, num_rows, notice)
        return [*values, derived] if self.distinct else [derived]

    def _derived(self, arguments: list[pa.Array], num_rows: int, notice: Callable[[str], None]) -> pa.Array:
        """The derived column: the function of the rows without a NULL, NULL elsewhere."""
        assert self.derive is not None and self.derived is not None
        known = complete(arguments, num_rows)
        if not known.any():
            return pa.nulls(num_rows, self.derived)
        given = [array.filter(pa.array(known)) for array in arguments]
        if isinstance(self.derive, ArrowDerivation):
            values = self.derive(given, notice)
        else:
            values = pa.array(np.asarray(self.derive(*map(as_numpy, given))), from_pandas=False)
        places = np.cumsum(known) - 1
        return normalise(values.cast(self.derived)).take(pa.array(np.maximum(places, 0), mask=~known))


def value_of(expression: Expression, columns: Sequence[pa.Array], num_rows: int) -> pa.Array:
    """The value of an expression in each row; a plain column is not copied."""
    if isinstance(expression, Column):
        return columns[expression.index]
    return evaluate(expression, columns, num_rows)


def as_numpy(array: pa.Array) -> AnyArray:
    """The values as a user-defined function gets them; DECIMAL as float64."""
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.float64())
    values: AnyArray = array.to_numpy(zero_copy_only=False)
    return values


def complete(arrays: Sequence[pa.Array], num_rows: int) -> BoolArray:
    """A mask of the rows without a NULL in any of the arrays."""
    mask = np.ones(num_rows, bool)
    for array in arrays:
        if array.null_count:
            mask &= as_mask(array.is_valid())
    return mask
