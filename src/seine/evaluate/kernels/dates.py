"""Kernels of date and timestamp functions; all times are UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Call
from seine.evaluate.kernels import date_parsing, date_patterns, decimals
from seine.evaluate.kernels.calendar import (
    MICROS_PER_DAY,
    MICROS_PER_SECOND,
    add_months,
    days_from_civil,
    first_day,
    month_of,
)
from seine.evaluate.kernels.constants import with_constants
from seine.evaluate.kernels.datum import Datum, Kernel, all_valid, build, row_count, valid, values
from seine.evaluate.kernels.rounding import round_doubles

_CLOCK_UNITS = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": MICROS_PER_SECOND,
    "minute": 60 * MICROS_PER_SECOND,
    "hour": 3600 * MICROS_PER_SECOND,
    "day": MICROS_PER_DAY,
}
_MONTHS_PER_UNIT = {"month": 1, "quarter": 3, "year": 12}
_DAYS_PER_MONTH = 31  # of the fraction that MONTHS_BETWEEN adds


def _field(kernel: Callable[[pa.Array], pa.Array]) -> Kernel:
    """The kernel of a date field that Arrow computes."""
    return lambda _, args: kernel(args[0]).cast(pa.int32())


def _of_days(function: Callable[[AnyArray], AnyArray]) -> Kernel:
    """The kernel of a function of the day number."""

    def kernel(call: Call, args: Sequence[Datum]) -> pa.Array:
        return build(call.type, function(values(args[0]).astype(np.int64)), valid(args[0]), row_count(args))

    return kernel


def _of_micros(function: Callable[[AnyArray], AnyArray]) -> Kernel:
    """The kernel of a function of the microseconds of a timestamp."""

    def kernel(call: Call, args: Sequence[Datum]) -> pa.Array:
        return build(call.type, function(values(args[0])), valid(args[0]), row_count(args))

    return kernel


def _of_two(function: Callable[[AnyArray, AnyArray], AnyArray]) -> Kernel:
    """The kernel of a function of two integers."""

    def kernel(call: Call, args: Sequence[Datum]) -> pa.Array:
        left, right = (values(arg).astype(np.int64) for arg in args)
        return build(call.type, function(left, right), all_valid(args), row_count(args))

    return kernel


def _from_seconds(unit: int) -> Kernel:
    """The kernel of a timestamp from a number of units of so many microseconds."""

    def kernel(call: Call, args: Sequence[Datum]) -> pa.Array:
        data = values(args[0])
        fits = (data >= -(2**62) // unit) & (data <= 2**62 // unit)
        return build(call.type, np.where(fits, data, 0) * unit, valid(args[0]) & fits, row_count(args))

    return kernel


def _extract_second(call: Call, args: Sequence[Datum]) -> pa.Array:
    micros = values(args[0]) % (60 * MICROS_PER_SECOND)
    return decimals.from_unscaled(call.type, micros, valid(args[0]), row_count(args))


def _make_date(call: Call, args: Sequence[Datum]) -> pa.Array:
    days, exists = days_from_civil(*(values(arg).astype(np.int64) for arg in args))
    return build(call.type, days, all_valid(args) & exists, row_count(args))


def _last_day(days: AnyArray) -> AnyArray:
    last: AnyArray = first_day(month_of(days) + 1) - 1
    return last


def truncate_days(days: AnyArray, unit: str) -> AnyArray:
    """The first day of the week (from Monday), month, quarter or year."""
    if unit == "week":
        monday: AnyArray = days - (days + 3) % 7
        return monday
    months = month_of(days)
    return first_day(months - months % _MONTHS_PER_UNIT[unit])


def _date_trunc(call: Call, array: pa.Array, unit: str) -> pa.Array:
    data = values(array)
    if unit in _CLOCK_UNITS:
        data = data - data % _CLOCK_UNITS[unit]
    else:
        data = truncate_days(data // MICROS_PER_DAY, unit) * MICROS_PER_DAY
    return build(call.type, data, valid(array), len(array))


def _date_trunc_swapped(call: Call, args: Sequence[Datum]) -> pa.Array:
    return _TRUNCATE_TIMESTAMP(call, (args[1], args[0]))


def _trunc(call: Call, array: pa.Array, unit: str) -> pa.Array:
    return build(call.type, truncate_days(values(array).astype(np.int64), unit), valid(array), len(array))


_TRUNCATE_TIMESTAMP = with_constants(_date_trunc, 1)


def _months_between(call: Call, args: Sequence[Datum]) -> pa.Array:
    """MONTHS_BETWEEN: whole between equal or last days of months, else with a fraction of 31-day months."""
    left, right = values(args[0]), values(args[1])
    round_off = values(args[2]) if len(args) == 3 else np.array([True])
    days = left // MICROS_PER_DAY, right // MICROS_PER_DAY
    months = [month_of(d) for d in days]
    within = [d - first_day(m) for d, m in zip(days, months, strict=True)]
    last = [d == _last_day(d) for d in days]
    whole = (within[0] == within[1]) | (last[0] & last[1])
    seconds = [
        w * 86_400 + (m % MICROS_PER_DAY) // MICROS_PER_SECOND
        for w, m in zip(within, (left, right), strict=True)
    ]
    distance = (months[0] - months[1]).astype(np.float64)
    exact = distance + np.where(whole, 0.0, (seconds[0] - seconds[1]) / (_DAYS_PER_MONTH * 86_400.0))
    data = np.where(round_off, round_doubles(exact, 8), exact)
    return build(call.type, data, all_valid(args), row_count(args))


def _whole_months(call: Call, args: Sequence[Datum]) -> pa.Array:
    """How many whole months lie between two times; those of a start after the end are negative.

    A last day that is not whole does not count; then months are, as in Java, 32 days that are numbered.
    """
    start, end = values(args[0]), values(args[1])
    first, last = start // MICROS_PER_DAY, end // MICROS_PER_DAY
    earlier, later = (last < first) & (end % MICROS_PER_DAY > start % MICROS_PER_DAY), last > first
    last = last + earlier - (later & (end % MICROS_PER_DAY < start % MICROS_PER_DAY))
    numbered = [month_of(days) * 32 + days - first_day(month_of(days)) for days in (first, last)]
    apart = numbered[1] - numbered[0]
    return build(call.type, np.sign(apart) * (np.abs(apart) // 32), all_valid(args), row_count(args))


KERNELS: dict[str, Kernel] = {
    "year": _field(pc.year),
    "quarter": _field(pc.quarter),
    "month": _field(pc.month),
    "day": _field(pc.day),
    "dayofyear": _field(pc.day_of_year),
    "weekofyear": _field(pc.iso_week),
    "dayofweek": _of_days(lambda days: (days + 4) % 7 + 1),
    "weekday": _of_days(lambda days: (days + 3) % 7),
    "last_day": _of_days(_last_day),
    "unix_date": _of_days(lambda days: days),
    "date_from_unix_date": _of_days(lambda days: days),
    "hour": _of_micros(lambda micros: micros // _CLOCK_UNITS["hour"] % 24),
    "minute": _of_micros(lambda micros: micros // _CLOCK_UNITS["minute"] % 60),
    "second": _of_micros(lambda micros: micros // MICROS_PER_SECOND % 60),
    "unix_seconds": _of_micros(lambda micros: micros // MICROS_PER_SECOND),
    "unix_millis": _of_micros(lambda micros: micros // 1000),
    "unix_micros": _of_micros(lambda micros: micros),
    "extract_second": _extract_second,
    "date_add": _of_two(lambda days, count: days + count),
    "date_sub": _of_two(lambda days, count: days - count),
    "datediff": _of_two(lambda end, start: end - start),
    "add_months": _of_two(add_months),
    "make_date": _make_date,
    "months_between": _months_between,
    "whole_months": _whole_months,
    "timestamp_seconds": _from_seconds(MICROS_PER_SECOND),
    "timestamp_millis": _from_seconds(1000),
    "timestamp_micros": _from_seconds(1),
    "date_trunc": _date_trunc_swapped,
    "trunc": with_constants(_trunc, 1),
    "to_date": with_constants(date_parsing.parse, 1),
    "to_timestamp": with_constants(date_parsing.parse, 1),
    "date_format": with_constants(date_patterns.format_timestamps, 1),
}
