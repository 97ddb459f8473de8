"""The proleptic Gregorian calendar, clocks of time zones, and timestamps printed by a pattern; vectorised.

Kernels of time zones, and of NEXT_DAY, DAYNAME, MONTHNAME and MAKE_TIMESTAMP.

A TIMESTAMP is an instant; from_utc_timestamp moves it by the offset that a zone has then, as Spark does.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Call
from seine.algebra.functions.date_fields import WEEKDAY_NUMBERS, pattern_tokens
from seine.evaluate.kernels import decimals
from seine.evaluate.kernels.datum import (
    Datum,
    Kernel,
    all_valid,
    argument,
    build,
    nulls,
    row_count,
    valid,
    values,
    with_constants,
)

MICROS_PER_SECOND = 1_000_000
MICROS_PER_DAY = 86_400 * MICROS_PER_SECOND
YEAR_RANGE = (-9999, 9999)  # years outside have no dates
# two years beyond the range on both sides, so that a clipped month is still outside
_MONTH_RANGE = ((YEAR_RANGE[0] - 1970) * 12 - 24, (YEAR_RANGE[1] - 1970) * 12 + 24)
_MICROS_PER_MINUTE = 60_000_000
_QUARTER_HOUR = 15 * _MICROS_PER_MINUTE  # zones change their offsets at multiples of it, from 2037 on
_QUARTER = dt.timedelta(minutes=15)
_MICROSECOND = dt.timedelta(microseconds=1)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_LATE = 2_114_380_800_000_000  # 2037-01-01: tables of changes end in this year
_RANGE = (-719_000 * MICROS_PER_DAY, 2_932_800 * MICROS_PER_DAY)  # the years 2 to 9999

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::([0-9]{1,2}))?")
_MOST_MINUTES = 18 * 60
# names of three letters that Java knows
_SHORT_NAMES = {
    **{"ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires"},
    **{"ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka"},
    **{"CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai"},
    **{"EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis"},
    **{"IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan"},
    **{"NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix"},
    **{"PRT": "America/Puerto_Rico"},
    **{"PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh"},
}
DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH_NAMES = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


_QUARTER_NAMES = ("1st quarter", "2nd quarter", "3rd quarter", "4th quarter")
# fields that are the same at every time, or text that may be missing when it is read
_FIXED = {
    **dict.fromkeys(("[", "]"), ""),
    **dict.fromkeys(("G", "GG", "GGG"), "AD"),
    "GGGG": "Anno Domini",
    **dict.fromkeys(("z", "zz", "zzz", "VV"), "UTC"),
    "zzzz": "Coordinated Universal Time",
    **dict.fromkeys(("Z", "ZZ", "ZZZ", "xx"), "+0000"),
    **dict.fromkeys(("ZZZZ", "O", "OOOO"), "GMT"),
    **dict.fromkeys(("X", "XX", "XXX", "ZZZZZ"), "Z"),
    "x": "+00",
    "xxx": "+00:00",
}


def month_of(days: AnyArray) -> AnyArray:
    """The month, since January 1970, that a day is in."""
    return days.astype("M8[D]").astype("M8[M]").astype(np.int64)


def first_day(months: AnyArray) -> AnyArray:
    """The first day of a month, both counted since 1970."""
    return months.astype("M8[M]").astype("M8[D]").astype(np.int64)


def days_from_civil(year: AnyArray, month: AnyArray, day: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Days since 1970-01-01, and which of the dates exist.

    >>> days, exists = days_from_civil(np.array([2024, 2023]), np.array([2, 2]), np.array([29, 29]))
    >>> days[0].item(), exists.tolist()
    (19782, [True, False])
    """
    exists = (year >= YEAR_RANGE[0]) & (year <= YEAR_RANGE[1]) & (month >= 1) & (month <= 12)
    months = np.where(exists, (year - 1970) * 12 + month - 1, 0)
    start = first_day(months)
    exists = exists & (day >= 1) & (day <= first_day(months + 1) - start)
    return start + day - 1, exists


def add_months(days: AnyArray, months: AnyArray) -> AnyArray:
    """Days moved by months, clipped to the last day of the target month.

    Far outside the calendar the result is a day just outside.

    >>> add_months(np.array([19782]), np.array([12])).astype("M8[D]").tolist()  # 2024-02-29
    [datetime.date(2025, 2, 28)]
    """
    month = month_of(days)
    target = np.clip(month + months, *_MONTH_RANGE)
    length = first_day(target + 1) - first_day(target)
    moved: AnyArray = first_day(target) + np.minimum(days - first_day(month), length - 1)
    return moved


@lru_cache(maxsize=1024)
def _is_zone(zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _offset_minutes(zone: str) -> int | None:
    """The minutes of an offset, which may stand behind UTC: +2, -08, +02:30, UTC+1, Z; None if it is none.

    >>> _offset_minutes("-08"), _offset_minutes("GMT+3"), _offset_minutes("+25:00"), _offset_minutes("PST")
    (-480, 180, None, None)
    """
    if zone == "Z":
        return 0
    match = _OFFSET.fullmatch(zone)
    if match is None:
        return None
    minutes = int(match[2]) * 60 + int(match[3] or 0)
    if minutes > _MOST_MINUTES or int(match[3] or 0) > 59:
        return None
    return -minutes if match[1] == "-" else minutes


def _from_utc(call: Call, array: pa.Array, zone: str) -> pa.Array:
    minutes = _offset_minutes(zone)
    if minutes is not None:
        return build(call.type, values(array) + minutes * _MICROS_PER_MINUTE, valid(array), len(array))
    region = _SHORT_NAMES.get(zone, zone)
    if not _is_zone(region):
        return nulls(call.type, len(array))
    data = values(array)
    return build(call.type, data + _offsets(data, region), valid(array), len(array))


def _to_utc(call: Call, array: pa.Array, zone: str) -> pa.Array:
    instants = to_instants(values(array), zone)
    if instants is None:
        return nulls(call.type, len(array))
    return build(call.type, instants, valid(array), len(array))


def to_instants(shown: AnyArray, zone: str) -> AnyArray | None:
    """The instants at which a zone's clocks show times; of two the earlier, in a gap by the old offset.

    None if there is no such zone.
    """
    minutes = _offset_minutes(zone)
    if minutes is not None:
        return shown - minutes * _MICROS_PER_MINUTE
    region = _SHORT_NAMES.get(zone, zone)
    if not _is_zone(region):
        return None
    earlier = _offsets(shown - MICROS_PER_DAY, region)
    later = _offsets(shown + MICROS_PER_DAY, region)
    first, second = shown - earlier, shown - later
    fits = _offsets(first, region) == earlier
    second_fits = _offsets(second, region) == later
    chosen: AnyArray = np.where(fits, first, np.where(second_fits, second, first))
    return chosen


def _offsets(instants: AnyArray, zone: str) -> AnyArray:
    """The microseconds by which a zone is ahead of UTC at instants."""
    bounded = np.clip(instants, *_RANGE)
    local = pc.local_timestamp(pa.array(bounded).cast(pa.timestamp("us", zone)))
    offsets: AnyArray = local.cast(pa.int64()).to_numpy() - bounded
    late = bounded >= _LATE
    if late.any():
        offsets = offsets.copy()
        offsets[late] = _late_offsets(bounded[late], zone)
    return offsets


def _late_offsets(instants: AnyArray, zone: str) -> AnyArray:
    """Offsets by the zone's rules, for years beyond its table of changes; each quarter hour once."""
    quarters, inverse = np.unique(instants // _QUARTER_HOUR, return_inverse=True)
    rules = ZoneInfo(zone)
    offsets = [(_EPOCH + int(at) * _QUARTER).astimezone(rules).utcoffset() for at in quarters]
    micros: AnyArray = np.array([(offset or _QUARTER * 0) // _MICROSECOND for offset in offsets], np.int64)
    return micros[inverse]


def _next_day(call: Call, array: pa.Array, name: str) -> pa.Array:
    """NEXT_DAY: the first day after a date that has this name."""
    wanted = WEEKDAY_NUMBERS.get(name.strip().upper())
    if wanted is None:
        return nulls(call.type, len(array))
    days = values(array).astype(np.int64)
    return build(call.type, days + 1 + (wanted - (days + 5)) % 7, valid(array), len(array))


def _named(names: Sequence[str], index: pa.Array) -> pa.Array:
    return pa.array([name[:3] for name in names]).take(index)


def _dayname(_: Call, args: Sequence[Datum]) -> pa.Array:
    return _named(DAY_NAMES, pc.day_of_week(argument(args)))


def _monthname(_: Call, args: Sequence[Datum]) -> pa.Array:
    return _named(MONTH_NAMES, pc.subtract(pc.month(argument(args)), 1))


def _make_timestamp(call: Call, args: Sequence[Datum]) -> pa.Array:
    """MAKE_TIMESTAMP(year, month, day, hour, minute, seconds); 60 seconds are the next minute."""
    days, exists = days_from_civil(*(values(arg).astype(np.int64) for arg in args[:3]))
    hour, minute = (values(arg).astype(np.int64) for arg in args[3:5])
    micros = decimals.unscaled(args[5]).astype(np.int64)
    inside = (
        (hour >= 0) & (hour < 24) & (minute >= 0) & (minute < 60) & (micros >= 0) & (micros <= 60_000_000)
    )
    data = days * MICROS_PER_DAY + (hour * 60 + minute) * _MICROS_PER_MINUTE + micros
    return build(call.type, data, all_valid(args) & exists & inside, row_count(args))


def format_timestamps(_: Call, array: pa.Array, pattern: str) -> pa.Array:
    """DATE_FORMAT: each field is formatted for all rows, then the fields are concatenated."""
    micros = np.where(valid(array), values(array), 0)
    fields = _fields(micros)
    tokens = pattern_tokens(pattern) or []
    pieces = [
        _printed(fields, text) if is_field and text not in _FIXED else pa.scalar(_fixed(is_field, text))
        for is_field, text in tokens
    ]
    joined = pc.binary_join_element_wise(pa.repeat("", len(array)), *pieces, "")
    return pc.if_else(pc.is_valid(array), joined, pa.scalar(None, pa.string()))


def _fixed(is_field: bool, text: str) -> str:
    return _FIXED[text] if is_field else text


def _fields(micros: AnyArray) -> dict[str, AnyArray]:
    """The number of each pattern letter."""
    days = micros // MICROS_PER_DAY
    seconds = micros // 1_000_000
    dates = pa.array(days.astype(np.int32)).cast(pa.date32())
    hour = seconds // 3600 % 24
    return {
        "y": pc.year(dates).to_numpy(),
        "M": pc.month(dates).to_numpy(),
        "Q": pc.quarter(dates).to_numpy(),
        "d": pc.day(dates).to_numpy(),
        "F": (pc.day(dates).to_numpy() - 1) % 7 + 1,
        "D": pc.day_of_year(dates).to_numpy(),
        "E": (days + 3) % 7,
        "a": hour // 12,
        "H": hour,
        "h": (hour + 11) % 12 + 1,
        "K": hour % 12,
        "k": (hour + 23) % 24 + 1,
        "m": seconds // 60 % 60,
        "s": seconds % 60,
        "S": micros % 1_000_000,
    }


def _printed(fields: dict[str, AnyArray], text: str) -> pa.Array:
    """One field as text, in the width or the wording that its letters specify."""
    letter = {"L": "M", "q": "Q"}.get(text[0], text[0])
    data = fields[letter]
    words = _words(letter, len(text))
    if words:
        return pa.array(words).take(pa.array(data - (letter in "MQ")))
    if text == "yy":
        data = data % 100
    if letter == "S":
        data = data // 10 ** (6 - len(text)) if len(text) <= 6 else data * 10 ** (len(text) - 6)
    return pc.utf8_lpad(pa.array(data).cast(pa.string()), len(text), "0")


def _words(letter: str, length: int) -> list[str]:
    """The words of a field that is not a number; none otherwise."""
    if letter == "a":
        return ["AM", "PM"]
    if letter == "Q" and length > 2:
        return [*_QUARTER_NAMES] if length == 4 else ["Q1", "Q2", "Q3", "Q4"]
    if letter == "E" or (letter == "M" and length > 2):
        names = DAY_NAMES if letter == "E" else MONTH_NAMES
        return [name if length == 4 else name[:3] for name in names]
    return []


KERNELS: dict[str, Kernel] = {
    "from_utc_timestamp": with_constants(_from_utc, 1),
    "to_utc_timestamp": with_constants(_to_utc, 1),
    "next_day": with_constants(_next_day, 1),
    "dayname": _dayname,
    "monthname": _monthname,
    "make_timestamp": _make_timestamp,
}
