"""Evaluates expressions over the columns of a batch, all rows at once.

A row for which an expression fails (division by zero, overflow, a bad cast, an invalid date) is
NULL for that row; evaluation never raises because of a value. Both branches of a CASE are
computed for all rows, which nothing can observe since failing is silent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call, Column, Expression, Literal, Parameter
from seine.algebra.linear_names import WEIGHTED
from seine.algebra.types import Kind
from seine.evaluate.kernels import casts, dates, logic, mathematics, numeric, strings
from seine.evaluate.kernels.datum import Datum, Kernel, as_array
from seine.evaluate.linear_sums import linear_kernel, weighted_sum


class _Kernels(dict[str, Kernel]):
    """Kernels by name; those of linear functions are made of the coefficients in their names."""

    def __missing__(self, name: str) -> Kernel:
        return linear_kernel(name)


KERNELS: dict[str, Kernel] = _Kernels(
    {
        **numeric.KERNELS,
        **logic.KERNELS,
        **casts.KERNELS,
        **mathematics.KERNELS,
        **strings.KERNELS,
        **dates.KERNELS,
        WEIGHTED: weighted_sum,
    }
)


class Columns(Protocol):
    """What expressions read: a sequence of arrays, or the DataColumns of a batch."""

    def __getitem__(self, index: int, /) -> pa.Array | None: ...


def evaluate(
    expression: Expression,
    columns: Columns,
    num_rows: int,
    parameters: Sequence[Datum | None] | None = None,
) -> pa.Array:
    """The expression's value in each row, as an array of its type.

    `columns[i]` is what Column(i) reads, `parameters[i]` what Parameter(i) reads: a scalar, or an
    array with a value for each row.

    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.types import INT
    >>> half = resolve_call("div", [literal(10), Column(0, INT)])
    >>> evaluate(half, [pa.array([4, 0, None], pa.int32())], 3).to_pylist()
    [2.5, None, None]
    """
    with np.errstate(all="ignore"):
        datum = _evaluate(expression, columns, parameters or ())
    return as_array(datum, num_rows)


def truth(
    predicate: Expression,
    columns: Columns,
    num_rows: int,
    parameters: Sequence[Datum | None] | None = None,
) -> np.ndarray:
    """The rows in which a predicate is true; NULL is not.

    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.types import INT
    >>> over = resolve_call("gt", [Column(0, INT), literal(2)])
    >>> truth(over, [pa.array([1, 3, None], pa.int32())], 3).tolist()
    [False, True, False]
    """
    return is_true(evaluate(predicate, columns, num_rows, parameters))


def is_true(verdict: pa.Array) -> np.ndarray:
    """Where a predicate's value is true; NULL is not."""
    if pa.types.is_null(verdict.type):
        return np.zeros(len(verdict), bool)
    return (pc.fill_null(verdict, False) if verdict.null_count else verdict).to_numpy(zero_copy_only=False)


def _evaluate(expression: Expression, columns: Columns, parameters: Sequence[Datum | None]) -> Datum:
    match expression:
        case Column(index):
            return _whole(columns[index])
        case Literal(value, type_):
            return pa.scalar(value, type_.arrow())
        case Parameter(index, type_):
            given = parameters[index]
            return pa.scalar(None, type_.arrow()) if given is None else given
        case Call():
            return _call(expression, [_evaluate(arg, columns, parameters) for arg in expression.args])
    raise TypeError(f"not an expression: {expression!r}")


def _whole(column: pa.Array | pa.ChunkedArray | None) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks()
    assert column is not None, "a column that the expression reads was not given"
    return column


def _call(call: Call, args: list[Datum]) -> Datum:
    """Applies the kernel; a call of constants alone is computed on one row."""
    constant = all(isinstance(arg, pa.Scalar) for arg in args)
    if constant:
        args = [as_array(arg, 1) for arg in args]
    result = KERNELS[call.name](call, args)
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if call.type.kind is not Kind.NULL and result.type != call.type.arrow():
        result = result.cast(call.type.arrow())
    return result[0] if constant else result
