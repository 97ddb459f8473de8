"""Lifts kernels that take scalar arguments to kernels whose arguments vary from row to row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Call
from seine.evaluate.kernels.datum import Datum, Kernel, as_array, nulls, row_count

# called with the call, the varying arguments as arrays, and a Python value for each constant argument
ConstantKernel = Callable[..., pa.Array]


def with_constants(kernel: ConstantKernel, varying: int, *, nullable: bool = False) -> Kernel:
    """A kernel that calls `kernel(call, *arrays, *constants)` for each distinct combination of constants.

    The first `varying` arguments stay arrays. Where a constant is NULL so is the result, unless
    `nullable`. Rows are partitioned by their constants, so that each is computed once.
    """

    def lifted(call: Call, args: Sequence[Datum]) -> pa.Array:
        size = row_count(args)
        arrays = [as_array(arg, size) for arg in args[:varying]]
        constants = args[varying:]
        if all(isinstance(constant, pa.Scalar) for constant in constants):
            return apply(call, arrays, [constant.as_py() for constant in constants])
        return _grouped(call, arrays, [as_array(constant, size) for constant in constants])

    def apply(call: Call, arrays: Sequence[pa.Array], constants: Sequence[Any]) -> pa.Array:
        if not nullable and any(constant is None for constant in constants):
            return nulls(call.type, len(arrays[0]))
        return kernel(call, *arrays, *constants)

    def _grouped(call: Call, arrays: Sequence[pa.Array], constants: Sequence[pa.Array]) -> pa.Array:
        if len(arrays[0]) == 0:
            return nulls(call.type, 0)
        order, starts = _runs(constants)
        pieces = []
        for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
            picked = pa.array(order[start:stop])
            values = [constant[int(order[start])].as_py() for constant in constants]
            pieces.append(apply(call, [array.take(picked) for array in arrays], values))
        inverse = np.empty(len(order), np.int64)
        inverse[order] = np.arange(len(order))
        return pa.concat_arrays([_joined(piece) for piece in pieces]).take(pa.array(inverse))

    return lifted


def _joined(piece: pa.Array | pa.ChunkedArray) -> pa.Array:
    return piece.combine_chunks() if isinstance(piece, pa.ChunkedArray) else piece


def _runs(constants: Sequence[pa.Array]) -> tuple[AnyArray, list[int]]:
    """A permutation of the rows in which equal constants are adjacent, and the start of each run."""
    codes = [pc.dictionary_encode(c, null_encoding="encode").indices.to_numpy() for c in constants]
    order = np.lexsort(codes)
    changes = np.zeros(len(order), bool)
    changes[0] = True
    for code in codes:
        ranked = code[order]
        changes[1:] |= ranked[1:] != ranked[:-1]
    return order, np.flatnonzero(changes).tolist()
