"""Kernels of TO_CHAR and TO_NUMBER by a pattern; each distinct value once.

to_char(-1234.5, '9,999.99S')       1,234.50-
to_number('$1,234.5', '$9,999.99')  1234.50
"""

from __future__ import annotations

import re
from decimal import Decimal

import pyarrow as pa

from seine.algebra.expressions import Call
from seine.algebra.functions.printing_types import NumberPattern, number_pattern
from seine.evaluate.kernels.constants import with_constants
from seine.evaluate.kernels.datum import Kernel, nulls
from seine.evaluate.kernels.strings import map_distinct

_DIGITS = re.compile(r"[\s0-9,]*")
_SIGNS = ("+", "-", "<")


def printed_number(value: Decimal, pattern: NumberPattern) -> str:
    """A number by a pattern; # for every digit if it has more than the pattern.

    >>> printed_number(Decimal("-12.5"), number_pattern("S0999.90"))
    '-0012.50'
    >>> printed_number(Decimal(123), number_pattern("99"))
    '##'
    """
    whole, _, part = f"{abs(value):f}".partition(".")
    whole, part = whole.lstrip("0"), part.rstrip("0")
    if len(whole) > pattern.whole_digits or len(part) > len(pattern.part):
        whole, part = "#" * pattern.whole_digits, "#" * len(pattern.part)
    is_negative = value < 0
    text = "<" if pattern.last == "PR" and is_negative else _with_sign("", pattern.first, is_negative)
    text = _whole_part(text + "$" * pattern.dollar, whole.rjust(pattern.whole_digits), pattern)
    if pattern.point:
        text = (text[:-1] + "0" if text.endswith(" ") else text) + "." + part.ljust(len(pattern.part), "0")
    text = _without_lone_point(_with_sign(text, pattern.last, is_negative))
    return "0" if text in ("", "+", "-") else text


def _whole_part(text: str, digits: str, pattern: NumberPattern) -> str:
    """The digits before the point: a group that begins with 0 is filled with zeros, any other with spaces."""
    at = 0
    for number, group in enumerate(pattern.groups):
        if number:
            text = f"{text}," if text[-1:].isdigit() else _with_space(text)
        for digit in digits[at : at + len(group)]:
            if digit != " ":
                text += digit
            else:
                text = f"{text}0" if group[0] == "0" else _with_space(text)
        at += len(group)
    return text


def _with_space(text: str) -> str:
    """A space more, before the sign if there is nothing behind that."""
    bare = text.rstrip("".join(_SIGNS))
    return f"{bare} {text[len(bare) :]}"


def _with_sign(text: str, sign: str, is_negative: bool) -> str:
    """A text with the sign of a pattern behind it, but before spaces at its end."""
    if not sign:
        return text
    if sign in ("MI", "PR") and not is_negative:
        text = _without_lone_point(text) if sign == "PR" else text
        return text + ("  " if sign == "PR" else " ")
    text = _without_lone_point(text)
    bare = text.rstrip(" ")
    shown = ">" if sign == "PR" else "-" if is_negative else "+"
    return bare + shown + text[len(bare) :]


def _without_lone_point(text: str) -> str:
    """A point without digits behind it becomes a space."""
    at = text.find(".")
    lone = at >= 0 and text[at + 1 : at + 2] in ("", " ")
    return f"{text[:at]} {text[at + 1 :]}" if lone else text


class _NumberReader:
    """Reads one text by a pattern, from left to right."""

    def __init__(self, text: str, pattern: NumberPattern) -> None:
        self._rest, self._pattern = text, pattern

    def number(self) -> Decimal | None:
        """The number; None if the text does not fit."""
        pattern = self._pattern
        opened = pattern.last == "PR" and self._takes("<")
        is_negative = self._negative(pattern.first)
        if pattern.dollar and self._rest and not self._takes("$"):
            return None
        whole = self._digits(pattern.groups) if pattern.groups else ""
        has_point = pattern.point and self._takes(".")
        part = self._digits((f"9{pattern.part[1:]}",)) if pattern.part else ""
        if pattern.last == "PR":
            closed = self._takes(">")
            is_negative = closed
            if opened != closed:
                return None
        elif pattern.last:
            is_negative = self._negative(pattern.last)
        if whole is None or part is None or self._rest or not whole + part:
            return None
        digits = f"{whole}.{part}" if has_point else whole + part
        return Decimal(f"{'-' if is_negative else ''}{digits}")

    def _takes(self, sign: str) -> bool:
        taken = self._rest.startswith(sign)
        self._rest = self._rest[taken:]
        return taken

    def _negative(self, sign: str) -> bool:
        if sign == "S" and self._takes("+"):
            return False
        return sign in ("S", "MI") and self._takes("-")

    def _digits(self, groups: tuple[str, ...]) -> str | None:
        """Digits between separators: a group that begins with 0 has all of its digits, any other at most."""
        match = _DIGITS.match(self._rest)
        assert match is not None
        self._rest = self._rest[match.end() :]
        parts = [re.sub(r"\s", "", part) for part in match[0].split(",")]
        if len(parts) > len(groups):
            return None
        sizes = [*([0] * (len(groups) - len(parts))), *map(len, parts)]
        pairs = zip(sizes, groups, strict=True)
        fits = all(size == len(group) if group[0] == "0" else size <= len(group) for size, group in pairs)
        return "".join(parts) if fits else None


def _to_char(call: Call, array: pa.Array, text: str) -> pa.Array:
    pattern = number_pattern(text)
    if pattern is None:
        return nulls(call.type, len(array))
    return map_distinct(lambda value: printed_number(value, pattern), array, pa.string())


def _to_number(call: Call, array: pa.Array, text: str) -> pa.Array:
    pattern = number_pattern(text)
    if pattern is None:
        return nulls(call.type, len(array))
    return map_distinct(lambda value: _NumberReader(value, pattern).number(), array, call.type.arrow())


KERNELS: dict[str, Kernel] = {
    "to_char": with_constants(_to_char, 1),
    "to_number": with_constants(_to_number, 1),
}
