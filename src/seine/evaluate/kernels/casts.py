"""The CAST kernel: numbers, booleans, dates and timestamps; strings by `parsing` and `printing`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Call
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, TIMESTAMP, Kind, Type
from seine.evaluate.kernels import decimals, parsing, printing
from seine.evaluate.kernels.calendar import MICROS_PER_DAY, MICROS_PER_SECOND
from seine.evaluate.kernels.datum import Datum, Kernel, build, nulls, row_count, valid, values
from seine.evaluate.kernels.rounding import round_text, scaled


def _cast(call: Call, args: Sequence[Datum]) -> pa.Array:
    source, target = call.args[0].type, call.type
    array = args[0]
    if source == target or (source.is_text and target.is_text):
        return array
    if source.kind is Kind.NULL:
        return nulls(target, row_count(args))
    if target.is_text:
        return printing.to_string(array, source)
    if source.is_text:
        return parsing.from_string(array, target)
    if source.kind is Kind.DECIMAL:
        return _from_decimal(array, source, target)
    if target.kind is Kind.DECIMAL:
        return _to_decimal(array, source, target)
    data, mask = _plain(values(array), source, target)
    return build(target, data, valid(array) & mask, len(array))


def _plain(data: AnyArray, source: Type, target: Type) -> tuple[AnyArray, AnyArray]:
    """A cast between types that NumPy represents directly: data, and where the result is valid."""
    everywhere = np.array([True])
    if target == BOOLEAN:
        return data != 0, everywhere
    if target == TIMESTAMP:
        return _to_timestamp(data, source)
    if target == DATE:
        return data // MICROS_PER_DAY, everywhere
    if source == TIMESTAMP:
        data = data / MICROS_PER_SECOND if target == DOUBLE else data // MICROS_PER_SECOND
        return data, everywhere
    if target == DOUBLE:
        return data.astype(np.float64), everywhere
    if source == DOUBLE:
        return truncated(data)
    return data.astype(np.int64), everywhere


def truncated(data: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Doubles truncated to 64-bit integers, and where that is valid: not for NaN or beyond 64 bits."""
    fits = (data >= -(2.0**63)) & (data < 2.0**63)
    return np.where(fits, data, 0.0).astype(np.int64), fits


def _to_timestamp(data: AnyArray, source: Type) -> tuple[AnyArray, AnyArray]:
    """A cast to TIMESTAMP; numbers are seconds since 1970."""
    if source == DATE:
        return data.astype(np.int64) * MICROS_PER_DAY, np.array([True])
    if source == DOUBLE:
        return truncated(data * MICROS_PER_SECOND)
    seconds = data.astype(np.int64)
    limit = 2**62 // MICROS_PER_SECOND
    fits = (seconds > -limit) & (seconds < limit)
    return np.where(fits, seconds, 0) * MICROS_PER_SECOND, fits


def _from_decimal(array: pa.Array, source: Type, target: Type) -> pa.Array:
    data, mask, size = decimals.unscaled(array), valid(array), len(array)
    if target.kind is Kind.DECIMAL:
        return decimals.from_unscaled(target, decimals.rescale(data, source.scale, target.scale), mask, size)
    if target == DOUBLE:
        return build(DOUBLE, _as_double(data, source.scale), mask, size)
    if target == BOOLEAN:
        return build(BOOLEAN, (data != 0).astype(bool), mask, size)
    if target == TIMESTAMP:
        micros = decimals.product(data, MICROS_PER_SECOND)
        whole = decimals.whole(
            BIGINT, decimals.divide_down(micros, decimals.power_of_ten(source.scale)), mask, size
        )
        return build(TIMESTAMP, values(whole), valid(whole), size)
    return decimals.whole(target, decimals.divide_down(data, decimals.power_of_ten(source.scale)), mask, size)


def _as_double(data: AnyArray, scale: int) -> AnyArray:
    """The nearest double: by NumPy where both operands are exact, else by Python's exact division."""
    if data.dtype != object and decimals.magnitude(data) < 2**53 and scale <= 22:
        return data / 10.0**scale
    return np.array([int(u) / 10**scale for u in data], np.float64)


def _to_decimal(array: pa.Array, source: Type, target: Type) -> pa.Array:
    data, mask, size = values(array), valid(array), len(array)
    if source == DOUBLE:
        return _double_to_decimal(data, mask, target)
    scale = 6 if source == TIMESTAMP else 0
    whole = data.astype(np.int64)
    if array.null_count:
        whole = np.where(mask, whole, 0)
    return decimals.from_unscaled(target, decimals.rescale(whole, scale, target.scale), mask, size)


def _double_to_decimal(data: AnyArray, mask: AnyArray, target: Type) -> pa.Array:
    whole, certain = scaled(data, target.scale)
    mask = mask & np.isfinite(data)
    open_rows = np.flatnonzero(mask & ~certain)
    result = np.where(certain, whole, 0.0).astype(np.int64)
    if open_rows.size:
        result = result.astype(object)
        for at in open_rows:
            result[at] = int(round_text(float(data[at]), target.scale).scaleb(target.scale))
    return decimals.from_unscaled(target, result, mask, len(data))


KERNELS: dict[str, Kernel] = {"cast": _cast}
