"""Exact DECIMAL arithmetic on unscaled integers: int64 arrays while they fit, Python integers beyond.

A decimal of scale s is an integer u standing for u / 10**s. Results are rounded HALF_UP to the
scale of the result's type and are NULL if they have more digits than its precision.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, BoolArray
from seine.algebra.expressions import Call
from seine.algebra.types import Kind, Type
from seine.evaluate.kernels.datum import Datum, all_valid, as_array, bitmap, build, row_count, valid
from seine.rows.column_arrays import buffer_of

_TWO_TO_64 = 2**64
_INT64_LIMIT = 2**63


def unscaled(datum: Datum) -> AnyArray:
    """The unscaled integers of a decimal array, zero where NULL."""
    array = as_array(datum, 1)
    if len(array) == 0:
        return np.zeros(0, np.int64)
    words = np.frombuffer(buffer_of(array, 1), np.int64, 2 * len(array), 16 * array.offset).reshape(-1, 2)
    if array.null_count:
        words = np.where(valid(array)[:, None], words, 0)
    low, high = words[:, 0], words[:, 1]
    if np.array_equal(high, low >> 63):
        return low
    wide: AnyArray = high.astype(object) * _TWO_TO_64 + low.view(np.uint64).astype(object)
    return wide


def from_unscaled(type_: Type, data: AnyArray, mask: BoolArray, size: int) -> pa.Array:
    """A decimal array of unscaled integers; NULL where there are more digits than the precision."""
    data = np.broadcast_to(data, size)
    limit = 10**type_.precision
    if data.dtype == object or limit < _INT64_LIMIT:
        mask = mask & (data < limit).astype(bool) & (data > -limit).astype(bool)
    data = np.where(np.broadcast_to(mask, size), data, 0)
    words = np.empty((size, 2), np.int64)
    if data.dtype == object:
        words[:, 0] = (data % _TWO_TO_64).astype(np.uint64).view(np.int64)
        words[:, 1] = (data // _TWO_TO_64).astype(np.int64)
    else:
        words[:, 0], words[:, 1] = data, data >> 63
    return pa.Array.from_buffers(type_.arrow(), size, [bitmap(mask, size), pa.py_buffer(words)])


def magnitude(data: AnyArray) -> int:
    """The largest absolute value; 0 of an empty array."""
    return max(abs(int(data.max())), abs(int(data.min()))) if data.size else 0


def product(a: AnyArray, b: AnyArray | int) -> AnyArray:
    """a * b, exact: in 64 bits if the largest operands cannot overflow."""
    bound = magnitude(a) * (abs(b) if isinstance(b, int) else magnitude(b))
    small = bound < _INT64_LIMIT and a.dtype != object and (isinstance(b, int) or b.dtype != object)
    if small and (not isinstance(b, int) or abs(b) < _INT64_LIMIT):
        return a * b
    return a.astype(object) * (b if isinstance(b, int) else b.astype(object))


def total(a: AnyArray, b: AnyArray) -> AnyArray:
    """a + b, exact."""
    if a.dtype != object and b.dtype != object and magnitude(a) + magnitude(b) < _INT64_LIMIT:
        narrow: AnyArray = a + b
        return narrow
    wide: AnyArray = a.astype(object) + b.astype(object)
    return wide


def divide_half_up(a: AnyArray, b: AnyArray) -> AnyArray:
    """a / b rounded to the nearest whole number, halves away from zero; b is not zero."""
    if a.dtype == object or b.dtype == object or max(magnitude(a), magnitude(b)) >= 2**62:
        a, b = a.astype(object), b.astype(object)
    size, divisor = abs(a), abs(b)
    quotient: AnyArray = size // divisor
    quotient = quotient + (2 * (size - quotient * divisor) >= divisor)
    return np.where((a < 0) != (b < 0), -quotient, quotient)


def divide_half_even(a: AnyArray, b: AnyArray) -> AnyArray:
    """a / b rounded to the nearest whole number, halves to the even one; b is not zero."""
    if a.dtype == object or b.dtype == object or max(magnitude(a), magnitude(b)) >= 2**62:
        a, b = a.astype(object), b.astype(object)
    size, divisor = abs(a), abs(b)
    quotient: AnyArray = size // divisor
    twice = 2 * (size - quotient * divisor)
    quotient = quotient + ((twice > divisor) | ((twice == divisor) & (quotient % 2 == 1)))
    return np.where((a < 0) != (b < 0), -quotient, quotient)


def divide_down(a: AnyArray, b: AnyArray) -> AnyArray:
    """a / b without its fraction; b is not zero."""
    if a.dtype == object or b.dtype == object or max(magnitude(a), magnitude(b)) >= _INT64_LIMIT:
        a, b = a.astype(object), b.astype(object)
    quotient = abs(a) // abs(b)
    return np.where((a < 0) != (b < 0), -quotient, quotient)


def power_of_ten(exponent: int) -> AnyArray:
    """10**exponent as an array of one element."""
    return np.array([10**exponent], dtype=np.int64 if exponent <= 18 else object)


def rescale(data: AnyArray, scale: int, to: int) -> AnyArray:
    """Unscaled integers converted to another scale, rounded HALF_UP where digits are dropped."""
    if to >= scale:
        return product(data, 10 ** (to - scale))
    return divide_half_up(data, power_of_ten(scale - to))


def arithmetic(call: Call, args: Sequence[Datum]) -> pa.Array:
    """The kernel of binary DECIMAL operators, by the name of the call."""
    left, right = (unscaled(arg) for arg in args)
    scales = (call.args[0].type.scale, call.args[1].type.scale)
    mask = all_valid(args)
    if call.name in ("div", "mod", "pmod", "int_div"):
        mask = mask & (right != 0).astype(bool)
        right = np.where(right == 0, 1, right)
    data, scale = _OPERATIONS[call.name](left, right, scales, call.type.scale)
    if call.type.kind is not Kind.DECIMAL:
        return whole(call.type, data, mask, row_count(args))
    return from_unscaled(call.type, rescale(data, scale, call.type.scale), mask, row_count(args))


def whole(type_: Type, data: AnyArray, mask: BoolArray, size: int) -> pa.Array:
    """Integers as an INT or BIGINT array, NULL where they do not fit."""
    bound = 2**31 if type_.kind is Kind.INT else _INT64_LIMIT
    fits = mask & (data < bound).astype(bool) & (data >= -bound).astype(bool)
    return build(type_, np.where(fits, data, 0).astype(np.int64), fits, size)


Scaled = tuple[AnyArray, int]  # unscaled integers, and their scale


def _aligned(a: AnyArray, b: AnyArray, scales: tuple[int, int]) -> tuple[AnyArray, AnyArray, int]:
    scale = max(scales)
    return rescale(a, scales[0], scale), rescale(b, scales[1], scale), scale


def _add(a: AnyArray, b: AnyArray, scales: tuple[int, int], _: int) -> Scaled:
    a, b, scale = _aligned(a, b, scales)
    return total(a, b), scale


def _sub(a: AnyArray, b: AnyArray, scales: tuple[int, int], _: int) -> Scaled:
    a, b, scale = _aligned(a, b, scales)
    return total(a, product(b, -1)), scale


def _mul(a: AnyArray, b: AnyArray, scales: tuple[int, int], _: int) -> Scaled:
    return product(a, b), sum(scales)


def _div(a: AnyArray, b: AnyArray, scales: tuple[int, int], scale: int) -> Scaled:
    """a / b; the dividend is scaled up so that the quotient has the scale of the result."""
    shift = scale - scales[0] + scales[1]
    if shift < 0:
        return divide_half_up(a, product(b, 10**-shift)), scale
    return divide_half_up(product(a, 10**shift), b), scale


def _int_div(a: AnyArray, b: AnyArray, scales: tuple[int, int], _: int) -> Scaled:
    a, b, _scale = _aligned(a, b, scales)
    return divide_down(a, b), 0


def _mod(a: AnyArray, b: AnyArray, scales: tuple[int, int], _: int) -> Scaled:
    a, b, scale = _aligned(a, b, scales)
    return total(a, product(product(divide_down(a, b), b), -1)), scale


def _pmod(a: AnyArray, b: AnyArray, scales: tuple[int, int], _: int) -> Scaled:
    remainder, scale = _mod(a, b, scales, 0)
    divisor = rescale(b, scales[1], scale)
    shifted, _scale = _mod(total(remainder, divisor), divisor, (scale, scale), 0)
    return np.where(remainder < 0, shifted, remainder), scale


_OPERATIONS = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "int_div": _int_div,
    "mod": _mod,
    "pmod": _pmod,
}


def negate(call: Call, args: Sequence[Datum]) -> pa.Array:
    """The kernel of -x."""
    return from_unscaled(call.type, product(unscaled(args[0]), -1), valid(args[0]), row_count(args))


def absolute(call: Call, args: Sequence[Datum]) -> pa.Array:
    """The kernel of ABS."""
    data = unscaled(args[0])
    return from_unscaled(
        call.type, np.where(data < 0, product(data, -1), data), valid(args[0]), row_count(args)
    )
