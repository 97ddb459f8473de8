"""Kernels of time zones, and of NEXT_DAY, DAYNAME, MONTHNAME and MAKE_TIMESTAMP.

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
from seine.algebra.functions.date_fields import WEEKDAY_NUMBERS
from seine.evaluate.kernels import decimals
from seine.evaluate.kernels.calendar import MICROS_PER_DAY, days_from_civil
from seine.evaluate.kernels.constants import with_constants
from seine.evaluate.kernels.date_patterns import DAY_NAMES, MONTH_NAMES
from seine.evaluate.kernels.datum import Datum, Kernel, all_valid, build, nulls, row_count, valid, values

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
    return _named(DAY_NAMES, pc.day_of_week(args[0]))


def _monthname(_: Call, args: Sequence[Datum]) -> pa.Array:
    return _named(MONTH_NAMES, pc.subtract(pc.month(args[0]), 1))


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


KERNELS: dict[str, Kernel] = {
    "from_utc_timestamp": with_constants(_from_utc, 1),
    "to_utc_timestamp": with_constants(_to_utc, 1),
    "next_day": with_constants(_next_day, 1),
    "dayname": _dayname,
    "monthname": _monthname,
    "make_timestamp": _make_timestamp,
}
