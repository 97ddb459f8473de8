"""Kernels of date and timestamp functions, and of event-time windows; all times are UTC.

TO_DATE and TO_TIMESTAMP read by a pattern such as dd/MMM/yyyy:HH:mm:ss Z.

Law: a text is read where its fields are those of one date and time that exists. Missing fields are those of
1970-01-01 00:00:00; a day of the year needs no month. A date is that of the instant, in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.expressions import Call
from seine.algebra.functions.date_fields import pattern_tokens
from seine.algebra.types import DATE
from seine.evaluate.kernels import calendar, decimals
from seine.evaluate.kernels.calendar import (
    MICROS_PER_DAY,
    MICROS_PER_SECOND,
    MONTH_NAMES,
    add_months,
    days_from_civil,
    first_day,
    month_of,
)
from seine.evaluate.kernels.casts import number, time_of_day
from seine.evaluate.kernels.datum import (
    Datum,
    Kernel,
    all_valid,
    argument,
    as_array,
    build,
    nulls,
    row_count,
    valid,
    values,
    with_constants,
)
from seine.evaluate.kernels.mathematics import round_doubles
from seine.rows.json_values import json_objects

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
_COLON_ZONE = r"Z|[+-][0-9]{2}:[0-9]{2}"
_PLAIN_ZONE = r"Z|[+-][0-9]{4}"
# the group that each field fills, and what it takes
_FIELDS = {
    "y": ("year", "[0-9]{1,4}"),
    "yy": ("short_year", "[0-9]{2}"),
    "yyyy": ("year", "[0-9]{4}"),
    "M": ("month", "[0-9]{1,2}"),
    "MM": ("month", "[0-9]{2}"),
    "MMM": ("month_name", "(?i:" + "|".join(name[:3] for name in MONTH_NAMES) + ")"),
    "MMMM": ("month_name", "(?i:" + "|".join(MONTH_NAMES) + ")"),
    "d": ("day", "[0-9]{1,2}"),
    "dd": ("day", "[0-9]{2}"),
    "D": ("day_of_year", "[0-9]{1,3}"),
    "DDD": ("day_of_year", "[0-9]{3}"),
    "a": ("half", "(?i:AM|PM)"),
    "H": ("hour", "[0-9]{1,2}"),
    "HH": ("hour", "[0-9]{2}"),
    "h": ("half_hour", "[0-9]{1,2}"),
    "hh": ("half_hour", "[0-9]{2}"),
    "m": ("minute", "[0-9]{1,2}"),
    "mm": ("minute", "[0-9]{2}"),
    "s": ("second", "[0-9]{1,2}"),
    "ss": ("second", "[0-9]{2}"),
    **{"S" * length: ("fraction", f"[0-9]{{1,{length}}}") for length in range(1, 10)},
    "X": ("zone", r"Z|[+-][0-9]{2}(?:[0-9]{2})?"),
    **dict.fromkeys(("XX", "ZZZZZ"), ("zone", _PLAIN_ZONE)),
    "XXX": ("zone", _COLON_ZONE),
    **dict.fromkeys(("Z", "ZZ", "ZZZ", "xx"), ("zone", "[+-][0-9]{4}")),
    "x": ("zone", "[+-][0-9]{2}(?:[0-9]{2})?"),
    "xxx": ("zone", "[+-][0-9]{2}:[0-9]{2}"),
    "ZZZZZ": ("zone", _COLON_ZONE),
}
_NAMES = tuple(dict.fromkeys(name for name, _ in _FIELDS.values()))


def _field(kernel: Callable[[pa.Array], pa.Array]) -> Kernel:
    """The kernel of a date field that Arrow computes."""
    return lambda _, args: kernel(argument(args)).cast(pa.int32())


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


def parse(call: Call, array: pa.Array, pattern: str) -> pa.Array:
    """The dates or timestamps of texts by a pattern; NULL where a text does not fit."""
    regex = _regex(pattern)
    if regex is None:
        return nulls(call.type, len(array))
    parts = pc.extract_regex(array, regex)
    days, exists = _days(parts)
    micros, is_time = time_of_day(parts)
    half_micros, fits = _half_day(parts)
    micros = micros + half_micros
    instants = days * MICROS_PER_DAY + micros - _zone_offset(parts)
    data = instants // MICROS_PER_DAY if call.type == DATE else instants
    return build(call.type, data, exists & is_time & fits & valid(parts), len(array))


def _regex(pattern: str) -> str | None:
    """The pattern as a regular expression with a group for every field, empty for missing ones."""
    tokens = pattern_tokens(pattern) or []
    names = [_FIELDS[text][0] for is_field, text in tokens if is_field and text not in "[]"]
    if len({*names}) < len(names):
        return None
    lacking = [f"(?P<{name}>)" for name in _NAMES if name not in names]
    return rf"\A{''.join(_piece(*token) for token in tokens)}{''.join(lacking)}\z"


def _piece(is_field: bool, text: str) -> str:
    if not is_field:
        return f"(?i:{re.escape(text)})"
    if text in "[]":
        return "(?:" if text == "[" else ")?"
    name, taken = _FIELDS[text]
    return f"(?P<{name}>{taken})"


def _given(parts: pa.StructArray, name: str) -> BoolArray:
    """The rows in which a group is not empty."""
    present = pc.not_equal(pc.struct_field(parts, name), "").fill_null(False)
    mask: BoolArray = present.to_numpy(zero_copy_only=False)
    return mask


def _place(parts: pa.StructArray, name: str, names: tuple[str, ...]) -> IntArray:
    """Which of some names, told apart by their first letters, a group has; -1 for none."""
    start = pc.utf8_lower(pc.utf8_slice_codeunits(pc.struct_field(parts, name), 0, 3))
    places = pc.index_in(start, value_set=pa.array([text[:3].lower() for text in names]))
    known: IntArray = pc.fill_null(places, -1).to_numpy().astype(np.int64)
    return known


def _days(parts: pa.StructArray) -> tuple[IntArray, BoolArray]:
    short = 2000 + number(parts, "short_year")
    year = np.where(_given(parts, "short_year"), short, number(parts, "year", 1970))
    named = _place(parts, "month_name", MONTH_NAMES)
    month = np.where(named >= 0, named + 1, number(parts, "month", 1))
    days, exists = days_from_civil(year, month, number(parts, "day", 1))
    of_year = number(parts, "day_of_year", 1)
    by_number = _given(parts, "day_of_year")
    first, _ = days_from_civil(year, np.ones_like(year), np.ones_like(year))
    following, _ = days_from_civil(year + 1, np.ones_like(year), np.ones_like(year))
    days = np.where(by_number, first + of_year - 1, days)
    exists &= ~by_number | ((of_year >= 1) & (first + of_year - 1 < following))
    return days, exists


def _half_day(parts: pa.StructArray) -> tuple[IntArray, BoolArray]:
    """The microseconds of an hour from 1 to 12 with its half of the day; and where it is such an hour."""
    by_half = _given(parts, "half_hour")
    hour = number(parts, "half_hour", 12)
    afternoon = pc.equal(pc.utf8_upper(pc.struct_field(parts, "half")), "PM").fill_null(False)
    shift = afternoon.to_numpy(zero_copy_only=False) * 12
    micros = np.where(by_half, hour % 12 + shift, 0) * 3_600_000_000
    return micros, ~by_half | ((hour >= 1) & (hour <= 12))


def _zone_offset(parts: pa.StructArray) -> IntArray:
    """Microseconds east of UTC."""
    digits = pc.replace_substring_regex(pc.struct_field(parts, "zone"), "[Z:]", "")
    pieces = pc.extract_regex(digits, r"\A(?P<sign>[+-])(?P<hours>[0-9]{2})(?P<minutes>[0-9]{0,2})\z")
    east = number(pieces, "hours") * 60 + number(pieces, "minutes")
    is_west = pc.equal(pc.struct_field(pieces, "sign"), "-").fill_null(False).to_numpy(zero_copy_only=False)
    offset: IntArray = np.where(is_west, -east, east) * 60_000_000
    return offset


def latest_starts(times: AnyArray, slides: AnyArray, origins: AnyArray) -> AnyArray:
    """The start of the latest window that begins at or before each time.

    >>> latest_starts(np.array([-1, 0, 7]), np.array(5), np.array(1)).tolist()
    [-4, -4, 6]
    """
    starts: AnyArray = times - np.mod(times - origins, slides)
    return starts


def _bound(of_end: bool) -> Kernel:
    def kernel(call: Call, args: Sequence[Datum]) -> pa.Array:
        times, lengths, slides, origins = map(values, args)
        starts = latest_starts(times, slides, origins)
        data = starts + lengths if of_end else starts
        return build(call.type, data, all_valid(args), row_count(args))

    return kernel


def _pair(call: Call, args: Sequence[Datum]) -> pa.Array:
    """A window as records show it."""
    start, end = (as_array(arg, row_count(args)) for arg in args)
    types = [arg.type for arg in call.args]
    objects = json_objects(("start", "end"), types, [start, end])
    return pc.if_else(pc.and_(start.is_valid(), end.is_valid()), objects, pa.scalar(None, pa.string()))


def _pane(call: Call, args: Sequence[Datum]) -> pa.Array:
    """The last instant of the span that has a time."""
    times, spans = map(values, args)
    last = latest_starts(times, spans, np.zeros_like(spans)) + spans - 1
    return build(call.type, last, all_valid(args), row_count(args))


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
    "to_date": with_constants(parse, 1),
    "to_timestamp": with_constants(parse, 1),
    "date_format": with_constants(calendar.format_timestamps, 1),
    "window_start": _bound(of_end=False),
    "window_end": _bound(of_end=True),
    "window": _pair,
    "session_window": _pair,
    "pane": _pane,
    **dict.fromkeys(("until", "closing_time"), lambda call, args: as_array(args[0], row_count(args))),
}
