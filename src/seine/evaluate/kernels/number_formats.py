"""Kernels of FORMAT_NUMBER, WIDTH_BUCKET and places in bitmaps."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Call
from seine.evaluate.kernels.constants import with_constants
from seine.evaluate.kernels.datum import Datum, Kernel, all_valid, build, row_count, valid, values
from seine.evaluate.kernels.strings import map_distinct

_EXACT = Context(prec=2000, rounding=ROUND_HALF_EVEN)
_MOST_DIGITS = 340  # behind the point, as in Java
_LARGEST_BUCKET = 2.0**63 - 1024  # the greatest double within a BIGINT
_BITMAP_BITS = 8 * 4096


def grouped_number(value: float | int | Decimal, digits: int) -> str:
    """A number with so many digits behind the point, halves to even, and commas between thousands.

    >>> grouped_number(12332.123456, 4), grouped_number(-0.5, 0), grouped_number(1234567, 0)
    ('12,332.1235', '-0', '1,234,567')
    """
    shortest = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not shortest.is_finite():
        return "NaN" if shortest.is_nan() else "∞" if shortest > 0 else "-∞"
    unit = Decimal(1).scaleb(-min(digits, _MOST_DIGITS))
    rounded = _EXACT.quantize(shortest, unit)
    if abs(rounded - shortest) * 2 == unit:  # a tie of the printed digits, perhaps not of the number itself
        rounded = _EXACT.quantize(Decimal(value), unit)
    return f"{rounded:,f}"


def _format_number(_: Call, array: pa.Array, digits: int) -> pa.Array:
    """FORMAT_NUMBER(number, digits); NULL for negative digits."""
    if digits < 0:
        return pa.nulls(len(array), pa.string())
    return map_distinct(lambda value: grouped_number(value, digits), array, pa.string())


def _width_bucket(call: Call, args: Sequence[Datum]) -> pa.Array:
    """WIDTH_BUCKET(value, low, high, n): which of n equal parts a value is in; 0 before, n + 1 behind."""
    value, low, high = (values(arg) for arg in args[:3])
    count = values(args[3])
    possible = (count > 0) & (count < 2**63 - 1) & (low != high) & np.isfinite(low) & np.isfinite(high)
    up = low < high
    before, behind = np.where(up, value < low, value > low), np.where(up, value >= high, value <= high)
    along = count * np.where(up, value - low, low - value) / np.where(possible, np.abs(high - low), 1.0)
    along = np.clip(np.where(before | behind | np.isnan(along), 0.0, along), 0, _LARGEST_BUCKET)
    bucket = np.where(before, 0, np.where(behind, count + 1, along.astype(np.int64) + 1))
    return build(call.type, bucket, all_valid(args) & possible & ~np.isnan(value), row_count(args))


def _bit_position(call: Call, args: Sequence[Datum]) -> pa.Array:
    number = values(args[0])
    place = np.where(number > 0, (number - 1) % _BITMAP_BITS, -number % _BITMAP_BITS)
    return build(call.type, place, valid(args[0]), row_count(args))


def _bucket_number(call: Call, args: Sequence[Datum]) -> pa.Array:
    number = values(args[0])
    bucket = np.where(number > 0, 1 + (number - 1) // _BITMAP_BITS, -(-number // _BITMAP_BITS))
    return build(call.type, bucket, valid(args[0]), row_count(args))


KERNELS: dict[str, Kernel] = {
    "format_number": with_constants(_format_number, 1),
    "width_bucket": _width_bucket,
    "bitmap_bit_position": _bit_position,
    "bitmap_bucket_number": _bucket_number,
}
