"""Kernels of MASK and QUOTE, and of CONV: each distinct value once."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import pyarrow as pa

from seine.algebra.expressions import Call
from seine.evaluate.kernels.constants import with_constants
from seine.evaluate.kernels.datum import Datum, Kernel, byte_lengths
from seine.evaluate.kernels.spending import spend
from seine.evaluate.kernels.strings import map_distinct

_BASES = range(2, 37)  # of numbers that CONV reads and writes
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_UNSIGNED = 2**64  # CONV counts in so many numbers


def _mask(
    _: Call,
    array: pa.Array,
    upper: str | None = "X",
    lower: str | None = "x",
    digit: str | None = "n",
    other: str | None = None,
) -> pa.Array:
    """MASK(text [, upper, lower, digit, other]): signs of each class by one sign; by NULL they stay."""

    def masked(sign: str) -> str:
        if sign.isupper():
            return sign if upper is None else upper
        if sign.islower():
            return sign if lower is None else lower
        chosen = digit if unicodedata.category(sign) == "Nd" else other
        return sign if chosen is None else chosen

    longest = max(len(sign.encode()) for sign in (upper or "", lower or "", digit or "", other or ""))
    if longest > 1:
        spend(size=int(byte_lengths(array).sum()) * longest, constants=[upper, lower, digit, other])
    return map_distinct(lambda text: "".join(map(masked, text)), array, pa.string())


def _quote(_: Call, args: Sequence[Datum]) -> pa.Array:
    """QUOTE: in single quotes, those within after a backslash."""
    return map_distinct(lambda text: "'" + text.replace("'", "\\'") + "'", args[0], pa.string())


def converted(text: str, source: int, target: int) -> str | None:
    """The digits of a number in another base; digits end at the first that is none.

    >>> converted("ff", 16, 10), converted("-10", 16, -10), converted("-1", 10, 16), converted("12", 2, 10)
    ('255', '-16', 'FFFFFFFFFFFFFFFF', '1')
    """
    text = text.strip(" ")
    if source not in _BASES or abs(target) not in _BASES or not text:
        return None
    is_negative = text.startswith("-")
    number = 0
    for sign in text[is_negative:]:
        digit = _DIGITS.find(sign.upper()) if sign.isascii() else -1
        if not 0 <= digit < source:
            break
        number = number * source + digit
        if number >= _UNSIGNED:
            return None
    return _in_base(number, is_negative, target)


def _in_base(number: int, is_negative: bool, base: int) -> str:
    """A number of 64 bits in a base; a negative base shows its sign."""
    if base > 0 and is_negative:
        number = _UNSIGNED - 1 if number >= _UNSIGNED // 2 else -number % _UNSIGNED
    if base < 0 and number >= _UNSIGNED // 2:
        number, is_negative = _UNSIGNED - number, True
    digits = ""
    while number or not digits:
        number, digit = divmod(number, abs(base))
        digits = _DIGITS[digit] + digits
    return f"-{digits}" if is_negative and base < 0 else digits


def _conv(_: Call, array: pa.Array, source: int, target: int) -> pa.Array:
    return map_distinct(lambda text: converted(text, source, target), array, pa.string())


KERNELS: dict[str, Kernel] = {
    "mask": with_constants(_mask, 1, nullable=True),
    "quote": _quote,
    "conv": with_constants(_conv, 1),
}
