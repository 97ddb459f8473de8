"""The number that a string value stands for, as XPath's number() reads it."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"[ \t\r\n]*(-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)[ \t\r\n]*", re.ASCII)
_LONGEST_NUMBER = 1_000  # characters; a longer text is none


def xpath_number(text: str) -> float:
    """The number, NaN if there is none. Exponents are read too, as libxml2 and XPath 2 do.

    >>> xpath_number(" -1.50 "), xpath_number("1,5"), xpath_number("")
    (-1.5, nan, nan)
    """
    match = _NUMBER.fullmatch(text) if len(text) <= _LONGEST_NUMBER else None
    return math.nan if match is None else float(match[1])
