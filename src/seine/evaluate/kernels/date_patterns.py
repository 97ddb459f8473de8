"""Formatting of timestamps by a pattern such as yyyy-MM-dd HH:mm:ss. Clocks are UTC."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Call
from seine.algebra.functions.date_fields import pattern_tokens
from seine.evaluate.kernels.calendar import MICROS_PER_DAY
from seine.evaluate.kernels.datum import valid, values

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
