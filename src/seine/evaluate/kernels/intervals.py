"""Interval arithmetic: dates and timestamps plus intervals, differences, and scaled intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Call
from seine.algebra.types import DATE, DOUBLE, YEAR_MONTH
from seine.evaluate.kernels import checked
from seine.evaluate.kernels.calendar import MICROS_PER_DAY, add_months
from seine.evaluate.kernels.datum import Datum, all_valid, build, row_count, values
from seine.evaluate.kernels.decimals import divide_half_up


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


def _difference(call: Call, args: Sequence[Datum]) -> checked.PartialResult:
    left, right = (values(arg).astype(np.int64) for arg in args)
    unit = MICROS_PER_DAY if call.args[0].type == DATE else 1
    return (left - right) * unit, np.array([True])


def _moved(call: Call, args: Sequence[Datum]) -> checked.PartialResult:
    """Operands added or subtracted: a date by whole days, anything else in its unit."""
    left, right = (values(arg).astype(np.int64) for arg in args)
    if call.args[0].type == DATE:
        right = right // MICROS_PER_DAY
    return checked.BINARY[call.name](left, right)


def _moved_by_months(call: Call, args: Sequence[Datum]) -> checked.PartialResult:
    left, months = (values(arg).astype(np.int64) for arg in args)
    sign = -1 if call.name == "sub" else 1
    unit = 1 if call.args[0].type == DATE else MICROS_PER_DAY
    days = left // unit
    return add_months(days, sign * months) * unit + left % unit, np.array([True])


def _scaled(call: Call, args: Sequence[Datum]) -> checked.PartialResult:
    """An interval times or divided by a number, rounded to its unit, halves away from zero."""
    interval, factor = values(args[0]).astype(np.int64), values(args[1])
    if call.args[1].type == DOUBLE:
        return _scaled_by_double(call.name, interval, factor)
    if call.name == "mul":
        return checked.mul(interval, factor.astype(np.int64))
    divisor = np.where(factor == 0, 1, factor).astype(np.int64)
    quotient = divide_half_up(interval, divisor)
    fits = (quotient < 2**63).astype(bool) & (factor != 0)
    return np.where(fits, quotient, 0).astype(np.int64), fits


def _scaled_by_double(name: str, interval: AnyArray, factor: AnyArray) -> checked.PartialResult:
    with np.errstate(all="ignore"):
        exact = interval * factor if name == "mul" else interval / factor
        rounded = np.trunc(exact + np.copysign(0.5, exact))
    fits = np.isfinite(rounded) & (np.abs(rounded) < 2.0**63)
    return np.where(fits, rounded, 0).astype(np.int64), fits
