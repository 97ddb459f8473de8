"""Kernels of bits and of counting: shifts, BIT_COUNT, BIT_GET, the bitwise operators, FACTORIAL."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Call
from seine.algebra.types import INT
from seine.evaluate.kernels.datum import Datum, Kernel, all_valid, build, row_count, valid, values

_LARGEST_FACTORIAL = 20  # that of 21 is beyond BIGINT
_FACTORIALS = np.array([math.factorial(n) for n in range(_LARGEST_FACTORIAL + 1)], np.int64)


def _of_two(function: Callable[[AnyArray, AnyArray], AnyArray]) -> Kernel:
    def kernel(call: Call, args: Sequence[Datum]) -> pa.Array:
        left, right = (values(arg) for arg in args)
        return build(call.type, function(left, right), all_valid(args), row_count(args))

    return kernel


def _shift(function: Callable[[AnyArray, AnyArray], AnyArray]) -> Kernel:
    """A shift by the lowest bits of the distance, as Java's."""

    def kernel(call: Call, args: Sequence[Datum]) -> pa.Array:
        data = values(args[0])
        width = 32 if call.args[0].type == INT else 64
        distance = (values(args[1]).astype(np.int64) % width).astype(data.dtype)
        return build(call.type, function(data, distance), all_valid(args), row_count(args))

    return kernel


def _unsigned_right(data: AnyArray, distance: AnyArray) -> AnyArray:
    unsigned = np.uint32 if data.dtype == np.int32 else np.uint64
    shifted: AnyArray = (data.view(unsigned) >> distance.astype(unsigned)).astype(data.dtype)
    return shifted


def _bit_count(call: Call, args: Sequence[Datum]) -> pa.Array:
    data = values(args[0]).astype(np.int64).view(np.uint8).reshape(-1, 8)
    counts = np.unpackbits(data, axis=1).sum(axis=1).astype(np.int64)
    return build(call.type, counts, valid(args[0]), row_count(args))


def _bit_get(call: Call, args: Sequence[Datum]) -> pa.Array:
    """BIT_GET: the bit at a position from the right; NULL beyond the number's width."""
    data, position = values(args[0]).astype(np.int64), values(args[1]).astype(np.int64)
    inside = (position >= 0) & (position < (32 if call.args[0].type == INT else 64))
    bits = (data >> np.where(inside, position, 0)) & 1
    return build(call.type, bits, all_valid(args) & inside, row_count(args))


def _bit_not(call: Call, args: Sequence[Datum]) -> pa.Array:
    return build(call.type, ~values(args[0]), valid(args[0]), row_count(args))


def _factorial(call: Call, args: Sequence[Datum]) -> pa.Array:
    data = values(args[0])
    inside = (data >= 0) & (data <= _LARGEST_FACTORIAL)
    return build(call.type, _FACTORIALS[np.where(inside, data, 0)], valid(args[0]) & inside, row_count(args))


KERNELS: dict[str, Kernel] = {
    "shiftleft": _shift(np.left_shift),
    "shiftright": _shift(np.right_shift),
    "shiftrightunsigned": _shift(_unsigned_right),
    "bitwise_and": _of_two(np.bitwise_and),
    "bitwise_or": _of_two(np.bitwise_or),
    "bitwise_xor": _of_two(np.bitwise_xor),
    "bitwise_not": _bit_not,
    "bit_count": _bit_count,
    "bit_get": _bit_get,
    "factorial": _factorial,
}
