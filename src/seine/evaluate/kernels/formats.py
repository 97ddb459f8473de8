"""Kernels that print by a format: FORMAT_NUMBER, TO_CHAR, FORMAT_STRING; TO_NUMBER, WIDTH_BUCKET, bitmaps.

to_char(-1234.5, '9,999.99S')       1,234.50-
to_number('$1,234.5', '$9,999.99')  1234.50

format_string('%05d|%-6s|%,.2f', 42, 'ab', 1234.5D)   00042|ab    |1,234.50
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call
from seine.algebra.functions.printing_types import Directive, NumberPattern, format_directives, number_pattern
from seine.algebra.types import INT
from seine.evaluate.kernels.datum import (
    Datum,
    Kernel,
    all_valid,
    argument,
    as_array,
    build,
    byte_lengths,
    nulls,
    row_count,
    valid,
    values,
    with_constants,
)
from seine.evaluate.kernels.spending import spend
from seine.evaluate.kernels.strings import map_distinct

_EXACT = Context(prec=2000, rounding=ROUND_HALF_EVEN)
_MOST_DIGITS = 340  # behind the point, as in Java
_LARGEST_BUCKET = 2.0**63 - 1024  # the greatest double within a BIGINT
_BITMAP_BITS = 8 * 4096
_DIGITS = re.compile(r"[\s0-9,]*")
_SIGNS = ("+", "-", "<")
_EXACT_ROUNDED_UP = Context(prec=800, rounding=ROUND_HALF_UP)
_LONG_LINE = 1000  # bytes of a line that nobody counts
_NOT_FINITE = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}


def grouped_number(value: float | int | Decimal, digits: int) -> str:
    """A number with so many digits behind the point, halves to even, and commas between thousands.

    >>> grouped_number(12332.123456, 4), grouped_number(-0.5, 0), grouped_number(1234567, 0)
    ('12,332.1235', '-0', '1,234,567')
    """
    shortest = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not shortest.is_finite():
        return "NaN" if shortest.is_nan() else "∞" if shortest > 0 else "-∞"
    unit = Decimal(1).scaleb(-min(digits, _MOST_DIGITS))
    rounded = _EXACT.quantize(shortest, unit)
    if abs(rounded - shortest) * 2 == unit:  # a tie of the printed digits, perhaps not of the number itself
        rounded = _EXACT.quantize(Decimal(value), unit)
    return f"{rounded:,f}"


def _format_number(_: Call, array: pa.Array, digits: int) -> pa.Array:
    """FORMAT_NUMBER(number, digits); NULL for negative digits."""
    if digits < 0:
        return pa.nulls(len(array), pa.string())
    return map_distinct(lambda value: grouped_number(value, digits), array, pa.string())


def _width_bucket(call: Call, args: Sequence[Datum]) -> pa.Array:
    """WIDTH_BUCKET(value, low, high, n): which of n equal parts a value is in; 0 before, n + 1 behind."""
    value, low, high = (values(arg) for arg in args[:3])
    count = values(args[3])
    possible = (count > 0) & (count < 2**63 - 1) & (low != high) & np.isfinite(low) & np.isfinite(high)
    up = low < high
    before, behind = np.where(up, value < low, value > low), np.where(up, value >= high, value <= high)
    along = count * np.where(up, value - low, low - value) / np.where(possible, np.abs(high - low), 1.0)
    along = np.clip(np.where(before | behind | np.isnan(along), 0.0, along), 0, _LARGEST_BUCKET)
    bucket = np.where(before, 0, np.where(behind, count + 1, along.astype(np.int64) + 1))
    return build(call.type, bucket, all_valid(args) & possible & ~np.isnan(value), row_count(args))


def _bit_position(call: Call, args: Sequence[Datum]) -> pa.Array:
    number = values(args[0])
    place = np.where(number > 0, (number - 1) % _BITMAP_BITS, -number % _BITMAP_BITS)
    return build(call.type, place, valid(args[0]), row_count(args))


def _bucket_number(call: Call, args: Sequence[Datum]) -> pa.Array:
    number = values(args[0])
    bucket = np.where(number > 0, 1 + (number - 1) // _BITMAP_BITS, -(-number // _BITMAP_BITS))
    return build(call.type, bucket, valid(args[0]), row_count(args))


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


def _utf16(text: str) -> bytes:
    """A text as Java counts it, in units of two bytes."""
    return text.encode("utf-16-le")


def _cut(text: str, units: int) -> str:
    """The first units of a text; half a sign is a question mark."""
    return _utf16(text)[: 2 * units].decode("utf-16-le", errors="replace").replace("\ufffd", "?")


def _grouped(digits: str) -> str:
    whole, point, fraction = digits.partition(".")
    return f"{int(whole):,}{point}{fraction}"


def _padded(directive: Directive, text: str, sign: str = "") -> str:
    """A text at the wanted width: on the left, or with zeros behind its sign."""
    missing = max(0, directive.width - len(_utf16(text)) // 2 - len(sign))
    if "-" in directive.flags:
        return sign + text + " " * missing
    return sign + "0" * missing + text if "0" in directive.flags else " " * missing + sign + text


def _signed(directive: Directive, digits: str, is_negative: bool) -> str:
    if is_negative and "(" in directive.flags:
        return _padded(directive, f"{digits})", "(")
    plus = "+" if "+" in directive.flags else " " if " " in directive.flags else ""
    return _padded(directive, digits, "-" if is_negative else plus)


def _integer(directive: Directive, value: int, bits: int) -> str:
    if directive.conversion == "d":
        digits = f"{abs(value):,}" if "," in directive.flags else str(abs(value))
        return _signed(directive, digits, value < 0)
    form = {"x": "x", "X": "X", "o": "o"}[directive.conversion]
    prefix = {"x": "0x", "X": "0X", "o": "0"}[directive.conversion] if "#" in directive.flags else ""
    return _padded(directive, format(value % 2**bits, form), prefix)


def _fraction(directive: Directive, value: float) -> str:
    """%f and %e: halves of the shortest digits are rounded away from zero."""
    if str(value).lower() in _NOT_FINITE:
        dropped = "0+ " if math.isnan(value) else "0"
        flags = directive.flags.translate(str.maketrans("", "", dropped))
        plain = Directive(directive.argument, flags, directive.width, None, "s")
        text = _NOT_FINITE[str(value).lower()]
        text = text.upper() if directive.conversion == "E" else text
        return _signed(plain, text.lstrip("-"), text.startswith("-"))
    exact = Decimal(repr(value))
    places = 6 if directive.precision is None else directive.precision
    if directive.conversion == "f":
        rounded = _EXACT_ROUNDED_UP.quantize(abs(exact), Decimal(1).scaleb(-places))
        digits = f"{rounded:f}"
        digits = _grouped(digits) if "," in directive.flags else digits
    else:
        digits = _scientific(abs(exact), places)
        digits = digits.upper() if directive.conversion == "E" else digits
    return _signed(directive, digits, exact.is_signed())


def _scientific(value: Decimal, places: int) -> str:
    rounded = Context(prec=places + 1, rounding=ROUND_HALF_UP).plus(value)
    if not rounded:
        return f"{Decimal(0):.{places}f}e+00"
    power = rounded.adjusted()
    mantissa = _EXACT_ROUNDED_UP.quantize(rounded.scaleb(-power), Decimal(1).scaleb(-places))
    return f"{mantissa:f}e{'-' if power < 0 else '+'}{abs(power):02}"


def _printed(directive: Directive, value: Any, bits: int) -> str:
    if value is None or directive.conversion in "sS":
        text = "null" if value is None else str(value)
        text = _cut(text, directive.precision) if directive.precision is not None else text
        plain = Directive(directive.argument, directive.flags.replace("0", ""), directive.width, None, "s")
        padded = _padded(plain, text)
        return padded.upper() if directive.conversion in "SXE" else padded
    if directive.conversion in "dxXo":
        return _integer(directive, value, bits)
    return _fraction(directive, value)


def _formatted(call: Call, *given: Any) -> pa.Array:
    """The columns of the arguments, printed by a format; each distinct value of one is printed once."""
    *arrays, form = given
    parts = format_directives(form, len(arrays))
    _spend_on_directives(parts, arrays, form)
    pieces: list[pa.Array | str] = []
    for part in parts:
        if isinstance(part, str):
            pieces.append(part)
            continue
        bits = 32 if call.args[part.argument].type == INT else 64
        pieces.append(_printed_column(part, arrays[part.argument - 1], bits))
    size = len(arrays[0])
    columns = [as_array(pa.scalar(piece), size) if isinstance(piece, str) else piece for piece in pieces]
    return pc.binary_join_element_wise(*columns, "")


def _spend_on_directives(parts: Sequence[str | Directive], arrays: Sequence[pa.Array], form: str) -> None:
    """Count what directives print that are wide, or one of many of an argument."""
    rows, size = len(arrays[0]), 0
    texts = [int(byte_lengths(array).sum()) if array.type == pa.string() else 0 for array in arrays]
    for part in parts:
        if isinstance(part, Directive):
            size += rows * max(part.width, part.precision or 0) + texts[part.argument - 1]
        else:
            size += rows * len(part.encode())
    if size > rows * _LONG_LINE:
        spend(size=size, constants=[form])


def _format_string(call: Call, args: Sequence[Datum]) -> pa.Array:
    """FORMAT_STRING(format, ...)."""
    form, *values = args
    if not values:
        return map_distinct(
            lambda text: "".join(map(str, format_directives(text, 0))), argument(args), pa.string()
        )
    return with_constants(_formatted, len(values))(call, (*values, form))


def _printed_column(directive: Directive, array: pa.Array, bits: int) -> pa.Array:
    encoded = array.dictionary_encode(null_encoding="encode")
    texts = [_printed(directive, value, bits) for value in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)


KERNELS: dict[str, Kernel] = {
    "format_number": with_constants(_format_number, 1),
    "width_bucket": _width_bucket,
    "bitmap_bit_position": _bit_position,
    "bitmap_bucket_number": _bucket_number,
    "to_char": with_constants(_to_char, 1),
    "to_number": with_constants(_to_number, 1),
    "format_string": _format_string,
}
