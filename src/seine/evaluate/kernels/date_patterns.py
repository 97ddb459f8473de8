"""Parsing and formatting of timestamps by a pattern such as yyyy-MM-dd HH:mm:ss."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Call
from seine.algebra.functions.polymorphic import pattern_tokens
from seine.algebra.types import DATE
from seine.evaluate.kernels.calendar import MICROS_PER_DAY, days_from_civil
from seine.evaluate.kernels.datum import build, nulls, valid, values
from seine.evaluate.kernels.parsing import number, time_of_day

_GROUPS = {
    "yyyy": ("year", 4),
    "MM": ("month", 2),
    "dd": ("day", 2),
    "HH": ("hour", 2),
    "mm": ("minute", 2),
    "ss": ("second", 2),
    "SSS": ("fraction", 3),
    "SSSSSS": ("fraction", 6),
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


def parse(call: Call, array: pa.Array, pattern: str) -> pa.Array:
    """TO_DATE or TO_TIMESTAMP by a pattern; missing fields default to those of 1970-01-01 00:00:00."""
    regex = _regex(pattern)
    if regex is None:
        return nulls(call.type, len(array))
    parts = pc.extract_regex(array, regex)
    days, exists = days_from_civil(
        number(parts, "year", 1970), number(parts, "month", 1), number(parts, "day", 1)
    )
    micros, is_time = time_of_day(parts)
    data = days if call.type == DATE else days * MICROS_PER_DAY + micros
    return build(call.type, data, exists & is_time & valid(parts), len(array))


def _regex(pattern: str) -> str | None:
    """The pattern as a regular expression with a group for every field, empty for missing ones."""
    tokens = pattern_tokens(pattern) or []
    names = [_GROUPS[text][0] for is_field, text in tokens if is_field]
    if len(set(names)) < len(names):
        return None
    pieces = [
        f"(?P<{_GROUPS[text][0]}>[0-9]{{{_GROUPS[text][1]}}})" if is_field else re.escape(text)
        for is_field, text in tokens
    ]
    lacking = [
        f"(?P<{name}>)" for name in dict.fromkeys(name for name, _ in _GROUPS.values()) if name not in names
    ]
    return f"^{''.join(pieces)}{''.join(lacking)}$"


def format_timestamps(_: Call, array: pa.Array, pattern: str) -> pa.Array:
    """DATE_FORMAT: each field is formatted for all rows, then the fields are concatenated."""
    micros = np.where(valid(array), values(array), 0)
    fields = _fields(micros)
    tokens = pattern_tokens(pattern) or []
    pieces = [_printed(fields, text) if is_field else pa.scalar(text) for is_field, text in tokens]
    joined = pc.binary_join_element_wise(pa.repeat("", len(array)), *pieces, "")
    return pc.if_else(pc.is_valid(array), joined, pa.scalar(None, pa.string()))


def _fields(micros: AnyArray) -> dict[str, AnyArray]:
    """The number of each pattern letter."""
    days = micros // MICROS_PER_DAY
    seconds = micros // 1_000_000
    dates = pa.array(days.astype(np.int32)).cast(pa.date32())
    hour = seconds // 3600 % 24
    return {
        "y": pc.year(dates).to_numpy(),
        "M": pc.month(dates).to_numpy(),
        "d": pc.day(dates).to_numpy(),
        "D": pc.day_of_year(dates).to_numpy(),
        "E": (days + 3) % 7,
        "a": hour // 12,
        "H": hour,
        "h": (hour + 11) % 12 + 1,
        "m": seconds // 60 % 60,
        "s": seconds % 60,
        "S": micros % 1_000_000,
    }


def _printed(fields: dict[str, AnyArray], text: str) -> pa.Array:
    """One field as text, in the width or the wording that its letters specify."""
    data = fields[text[0]]
    if text[0] in "EaM" and text not in ("M", "MM"):
        return pa.array(_words(text)).take(pa.array(data - (text[0] == "M")))
    if text == "yy":
        data = data % 100
    if text[0] == "S":
        data = data // 10 ** (6 - len(text))
    return pc.utf8_lpad(pa.array(data).cast(pa.string()), len(text), "0")


def _words(text: str) -> list[str]:
    if text == "a":
        return ["AM", "PM"]
    names = DAY_NAMES if text[0] == "E" else MONTH_NAMES
    return [name if len(text) == 4 else name[:3] for name in names]
