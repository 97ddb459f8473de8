"""Kernels of arithmetic, of numbers, intervals and bits: NULL on overflow or division by zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, BoolArray
from seine.algebra.expressions import Call
from seine.algebra.types import DATE, DOUBLE, INT, YEAR_MONTH, Kind, Type
from seine.evaluate.kernels import decimals
from seine.evaluate.kernels.calendar import MICROS_PER_DAY, add_months
from seine.evaluate.kernels.datum import Datum, Kernel, all_valid, build, row_count, valid, values
from seine.evaluate.kernels.decimals import divide_half_up

PartialResult = tuple[AnyArray, BoolArray]  # data, and the mask of the rows in which it is valid
_MIN_INT64 = np.int64(np.iinfo(np.int64).min)
_EVERYWHERE = np.array([True])
_LARGEST_FACTORIAL = 20  # that of 21 is beyond BIGINT
_FACTORIALS = np.array([math.factorial(n) for n in range(_LARGEST_FACTORIAL + 1)], np.int64)


def numeric(name: str, type_: Type, args: Sequence[Datum]) -> pa.Array:
    """A binary operator on two arguments of one type; INT is computed in 64 bits, then range-checked."""
    left, right = (values(arg) for arg in args)
    if left.dtype == np.int32:
        left, right = left.astype(np.int64), right.astype(np.int64)
    with np.errstate(all="ignore"):
        data, is_valid = BINARY[name](left, right)
    return build(type_, data, all_valid(args) & is_valid, row_count(args))


def _arithmetic(call: Call, args: Sequence[Datum]) -> pa.Array:
    kinds = {arg.type.kind for arg in call.args}
    if kinds & {Kind.DATE, Kind.TIMESTAMP, Kind.DAY_TIME, Kind.YEAR_MONTH}:
        return arithmetic(call, args)
    if Kind.DECIMAL in kinds:
        return decimals.arithmetic(call, args)
    return numeric(call.name, call.type, args)


def _negate(call: Call, args: Sequence[Datum]) -> pa.Array:
    if call.type.kind is Kind.DECIMAL:
        return decimals.negate(call, args)
    data = values(args[0])
    mask = all_valid(args)
    if call.type != DOUBLE:
        mask = mask & (data != np.iinfo(data.dtype).min)
    return build(call.type, -data, mask, row_count(args))


def _absolute(call: Call, args: Sequence[Datum]) -> pa.Array:
    if call.type.kind is Kind.DECIMAL:
        return decimals.absolute(call, args)
    data = values(args[0])
    mask = all_valid(args)
    if call.type != DOUBLE:
        mask = mask & (data != np.iinfo(data.dtype).min)
    return build(call.type, np.abs(data), mask, row_count(args))


def add(a: AnyArray, b: AnyArray) -> PartialResult:
    """a + b; a 64-bit sum has overflowed if the signs of both operands differ from the sign of the sum."""
    total = a + b
    return total, (((a ^ total) & (b ^ total)) >= 0) if total.dtype == np.int64 else _EVERYWHERE


def sub(a: AnyArray, b: AnyArray) -> PartialResult:
    """a - b, NULL on 64-bit overflow."""
    total = a - b
    return total, (((a ^ b) & (a ^ total)) >= 0) if total.dtype == np.int64 else _EVERYWHERE


def mul(a: AnyArray, b: AnyArray) -> PartialResult:
    """a * b; checked by division only if the largest operands could overflow."""
    product = a * b
    if product.dtype != np.int64 or _magnitude(a) * _magnitude(b) < 2**63:
        return product, _EVERYWHERE
    divisor = np.where(b == 0, 1, b)
    wrapped = ((a == _MIN_INT64) & (b == -1)) | ((b == _MIN_INT64) & (a == -1))
    return product, (b == 0) | ((product // divisor == a) & (product % divisor == 0) & ~wrapped)


def _magnitude(a: AnyArray) -> int:
    return max(abs(int(a.max())), abs(int(a.min()))) if a.size else 0


def div(a: AnyArray, b: AnyArray) -> PartialResult:
    """a / b of doubles, NULL for b = 0."""
    return a / b, b != 0


def mod(a: AnyArray, b: AnyArray) -> PartialResult:
    """a % b, NULL for b = 0; the remainder has the sign of the dividend."""
    return np.fmod(a, b), b != 0


def pmod(a: AnyArray, b: AnyArray) -> PartialResult:
    """The positive remainder of a by b, NULL for b = 0."""
    remainder = np.fmod(a, b)
    return np.where(remainder < 0, np.fmod(remainder + b, b), remainder), b != 0


def int_div(a: AnyArray, b: AnyArray) -> PartialResult:
    """a DIV b, truncated; NULL for b = 0 and on overflow."""
    divisor = np.where(b == 0, 1, b)
    quotient = a // divisor
    quotient += (a % divisor != 0) & ((a < 0) != (divisor < 0))
    return quotient, (b != 0) & ~((a == _MIN_INT64) & (b == -1))


BINARY: dict[str, Callable[[AnyArray, AnyArray], PartialResult]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "div": div,
    "mod": mod,
    "pmod": pmod,
    "int_div": int_div,
}


def arithmetic(call: Call, args: Sequence[Datum]) -> pa.Array:
    """The kernel of binary operators, by the name of the call and the types of its arguments."""
    left, right = call.args[0].type, call.args[1].type
    if left.is_temporal and right.is_temporal:
        data, is_valid = _difference(call, args)
    elif call.name in ("mul", "div"):
        data, is_valid = _scaled(call, args)
    elif left.is_temporal and right == YEAR_MONTH:
        data, is_valid = _moved_by_months(call, args)
    else:
        data, is_valid = _moved(call, args)
    return build(call.type, data, all_valid(args) & is_valid, row_count(args))


def _difference(call: Call, args: Sequence[Datum]) -> PartialResult:
    left, right = (values(arg).astype(np.int64) for arg in args)
    unit = MICROS_PER_DAY if call.args[0].type == DATE else 1
    return (left - right) * unit, np.array([True])


def _moved(call: Call, args: Sequence[Datum]) -> PartialResult:
    """Operands added or subtracted: a date by whole days, anything else in its unit."""
    left, right = (values(arg).astype(np.int64) for arg in args)
    if call.args[0].type == DATE:
        right = right // MICROS_PER_DAY
    return BINARY[call.name](left, right)


def _moved_by_months(call: Call, args: Sequence[Datum]) -> PartialResult:
    left, months = (values(arg).astype(np.int64) for arg in args)
    sign = -1 if call.name == "sub" else 1
    unit = 1 if call.args[0].type == DATE else MICROS_PER_DAY
    days = left // unit
    return add_months(days, sign * months) * unit + left % unit, np.array([True])


def _scaled(call: Call, args: Sequence[Datum]) -> PartialResult:
    """An interval times or divided by a number, rounded to its unit, halves away from zero."""
    interval, factor = values(args[0]).astype(np.int64), values(args[1])
    if call.args[1].type == DOUBLE:
        return _scaled_by_double(call.name, interval, factor)
    if call.name == "mul":
        return mul(interval, factor.astype(np.int64))
    divisor = np.where(factor == 0, 1, factor).astype(np.int64)
    quotient = divide_half_up(interval, divisor)
    fits = (quotient < 2**63).astype(bool) & (factor != 0)
    return np.where(fits, quotient, 0).astype(np.int64), fits


def _scaled_by_double(name: str, interval: AnyArray, factor: AnyArray) -> PartialResult:
    with np.errstate(all="ignore"):
        exact = interval * factor if name == "mul" else interval / factor
        rounded = np.trunc(exact + np.copysign(0.5, exact))
    fits = np.isfinite(rounded) & (np.abs(rounded) < 2.0**63)
    return np.where(fits, rounded, 0).astype(np.int64), fits


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
    **dict.fromkeys(BINARY, _arithmetic),
    "neg": _negate,
    "abs": _absolute,
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
