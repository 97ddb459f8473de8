"""Calls of users' functions: all rows at once; where one fails for a row, that row is NULL.

A function that raises for many rows is asked again for halves of them, down to single rows, so that which
rows are NULL does not depend on what else was in the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seine.algebra.expressions import Call
from seine.algebra.user_functions import PREFIX, UserFunction, needed
from seine.evaluate.kernels.datum import Datum, Kernel, as_array, row_count


def user_kernel(name: str) -> Kernel:
    """The kernel of a call `user.name`."""

    def kernel(call: Call, args: Sequence[Datum]) -> pa.Array:
        function = needed(name.removeprefix(PREFIX))
        rows = row_count(args)
        return _applied(function, [as_array(arg, rows) for arg in args], call.type.arrow())

    return kernel


def _applied(function: UserFunction, arrays: list[pa.Array], type_: pa.DataType) -> pa.Array:
    rows = len(arrays[0])
    if not rows:
        return pa.nulls(0, type_)
    try:
        return _checked(function(*arrays), rows, type_)
    except (Exception, SystemExit):  # a user's code may raise anything
        if rows == 1:
            return pa.nulls(1, type_)
    half = rows // 2
    parts = [[array[:half] for array in arrays], [array[half:] for array in arrays]]
    return pa.concat_arrays([_applied(function, part, type_) for part in parts])


def _checked(made: Any, rows: int, type_: pa.DataType) -> pa.Array:
    """What a function gave, as an array of its type."""
    if isinstance(made, pa.ChunkedArray):
        made = made.combine_chunks()
    if not isinstance(made, pa.Array):
        made = pa.array(made, from_pandas=True)
    if len(made) != rows:
        raise ValueError(f"it gave {len(made)} values for {rows} rows")
    return made.cast(type_)
