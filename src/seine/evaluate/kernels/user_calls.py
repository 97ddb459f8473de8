"""Calls of users' functions: all rows at once, in a process that may be ended."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from seine.algebra.expressions import Call
from seine.algebra.user_functions import PREFIX, needed
from seine.evaluate.kernels.datum import Datum, Kernel, as_array, row_count
from seine.user_code.process import call_by_rows, code_of_function


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
