"""TO_DATE and TO_TIMESTAMP by a pattern such as dd/MMM/yyyy:HH:mm:ss Z.

Law: a text is read where its fields are those of one date and time that exists. Missing fields are those of
1970-01-01 00:00:00; a day of the year needs no month. A date is that of the instant, in UTC.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.expressions import Call
from seine.algebra.functions.date_fields import pattern_tokens
from seine.algebra.types import DATE
from seine.evaluate.kernels.calendar import MICROS_PER_DAY, days_from_civil
from seine.evaluate.kernels.date_patterns import MONTH_NAMES
from seine.evaluate.kernels.datum import build, nulls, valid
from seine.evaluate.kernels.parsing import number, time_of_day

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
