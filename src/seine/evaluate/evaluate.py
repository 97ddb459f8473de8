"""The vectorised expression evaluator: all rows of a batch at once, one kernel call for each node.

Where an expression fails (division by zero, overflow, a bad cast, an invalid date) the row's value is
NULL; evaluation never raises because of a value, but for work that is over a bound (`kernels/spending.py`).
Both branches of a CASE are computed for all rows, which nothing can observe since failures are NULL. A call
that occurs in an expression more than once is computed once for all of them.

Law: a result of texts that is larger than the largest argument is counted, by the kernel before it makes the
result or else here (`kernels/spending.py`): so nested calls cannot multiply bytes unseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray
from seine.algebra.expressions import Call, Column, Expression, Literal, Parameter, repeated_calls
from seine.algebra.linear import WEIGHTED
from seine.algebra.types import Kind
from seine.algebra.user_functions import PREFIX, needed
from seine.evaluate import term_matcher
from seine.evaluate.kernels import (
    calendar,
    casts,
    dates,
    formats,
    json_texts,
    logic,
    mathematics,
    numeric,
    regular_expressions,
    row_codes,
    strings,
    text_arrays,
    text_codes,
    text_similarity,
)
from seine.evaluate.kernels.datum import Datum, Kernel, as_array, end_call, row_count
from seine.evaluate.kernels.spending import begin
from seine.evaluate.linear_sums import linear_kernel, weighted_sum
from seine.user_code.process import call_by_rows, code_of_function


class _Kernels(dict[str, Kernel]):
    """Kernels by function name; those of users' functions are looked up when they are called, and those of
    linear functions are derived from the coefficients in the name.
    """

    def __missing__(self, name: str) -> Kernel:
        return user_kernel(name) if name.startswith(PREFIX) else linear_kernel(name)


KERNELS: dict[str, Kernel] = _Kernels(
    {
        **numeric.KERNELS,
        **logic.KERNELS,
        **casts.KERNELS,
        **mathematics.KERNELS,
        **strings.KERNELS,
        **text_codes.KERNELS,
        **json_texts.KERNELS,
        **formats.KERNELS,
        **row_codes.KERNELS,
        **text_arrays.KERNELS,
        **regular_expressions.KERNELS,
        **text_similarity.KERNELS,
        **dates.KERNELS,
        **calendar.KERNELS,
        **term_matcher.KERNELS,
        WEIGHTED: weighted_sum,
    }
)


class Columns(Protocol):
    """The input columns of an evaluation: a sequence of arrays, or the DataColumns of a batch."""

    def __getitem__(self, index: int, /) -> pa.Array | None: ...


def evaluate(
    expression: Expression,
    columns: Columns,
    num_rows: int,
    parameters: Sequence[Datum | None] | None = None,
) -> pa.Array:
    """The value of an expression in each row, as an array of its type.

    Column(i) reads `columns[i]`, Parameter(i) reads `parameters[i]`: a scalar, or an array with a value
    for each row.

    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.types import INT
    >>> half = resolve_call("div", [literal(10), Column(0, INT)])
    >>> evaluate(half, [pa.array([4, 0, None], pa.int32())], 3).to_pylist()
    [2.5, None, None]
    """
    with np.errstate(all="ignore"):
        datum = _Evaluation(columns, parameters or ()).value(expression)
    return as_array(datum, num_rows)


def truth(
    predicate: Expression,
    columns: Columns,
    num_rows: int,
    parameters: Sequence[Datum | None] | None = None,
) -> BoolArray:
    """The mask of the rows in which a predicate is true (not NULL).

    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.types import INT
    >>> over = resolve_call("gt", [Column(0, INT), literal(2)])
    >>> truth(over, [pa.array([1, 3, None], pa.int32())], 3).tolist()
    [False, True, False]
    """
    return is_true(evaluate(predicate, columns, num_rows, parameters))


def is_true(verdict: pa.Array) -> BoolArray:
    """The mask of the true values of a BOOLEAN array; NULL is not true."""
    if pa.types.is_null(verdict.type):
        return np.zeros(len(verdict), bool)
    filled = pc.fill_null(verdict, False) if verdict.null_count else verdict
    mask: BoolArray = filled.to_numpy(zero_copy_only=False)
    return mask


class _Evaluation:
    """The values of one expression and of its parts; those of calls that occur again are kept meanwhile."""

    __slots__ = ("_columns", "_kept", "_parameters", "_repeated")

    def __init__(self, columns: Columns, parameters: Sequence[Datum | None]) -> None:
        self._columns, self._parameters = columns, parameters
        self._repeated: frozenset[Expression] | None = None
        self._kept: dict[Expression, Datum] = {}

    def value(self, expression: Expression) -> Datum:
        match expression:
            case Column(index):
                return _whole(self._columns[index])
            case Literal(value, type_):
                return pa.scalar(value, type_.arrow())
            case Parameter(index, type_):
                given = self._parameters[index]
                return pa.scalar(None, type_.arrow()) if given is None else given
            case Call():
                return self._value_of_call(expression)
        raise TypeError(f"not an expression: {expression!r}")

    def _value_of_call(self, call: Call) -> Datum:
        if self._repeated is None:  # this is the whole expression
            self._repeated = repeated_calls(call)
        if not self._repeated or call not in self._repeated:
            return _call(call, [self.value(arg) for arg in call.args])
        kept = self._kept.get(call)
        if kept is None:
            kept = self._kept[call] = _call(call, [self.value(arg) for arg in call.args])
        return kept


def _whole(column: pa.Array | pa.ChunkedArray | None) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks()
    if column is None:
        raise TypeError("a column that the expression reads was not given")
    return column


def _call(call: Call, args: list[Datum]) -> Datum:
    """Apply the kernel of a call; a call of scalars alone is computed on one row."""
    constant = all(isinstance(arg, pa.Scalar) for arg in args)
    if constant:
        args = [as_array(arg, 1) for arg in args]
    begin(call)
    result = KERNELS[call.name](call, args)
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if call.type.kind is not Kind.NULL and result.type != call.type.arrow():
        result = result.cast(call.type.arrow())
    end_call(call, args, result)
    return result[0] if constant else result


def user_kernel(name: str) -> Kernel:
    """The kernel of a call `user.name`."""

    def kernel(call: Call, args: Sequence[Datum]) -> pa.Array:
        function = needed(name.removeprefix(PREFIX))
        count = row_count(args)
        if not count:
            return pa.nulls(0, call.type.arrow())
        names = [f"a{i}" for i in range(len(args))]
        rows = pa.RecordBatch.from_arrays([as_array(arg, count) for arg in args], names)
        return call_by_rows(code_of_function(function), "call", rows, [], takes=function.takes)

    return kernel
