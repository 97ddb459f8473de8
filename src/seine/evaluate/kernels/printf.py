"""The kernel of FORMAT_STRING (PRINTF), with Java's conversions of numbers and texts.

format_string('%05d|%-6s|%,.2f', 42, 'ab', 1234.5D)   00042|ab    |1,234.50
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call
from seine.algebra.functions.printing_types import Directive, format_directives
from seine.algebra.types import INT
from seine.evaluate.kernels.constants import with_constants
from seine.evaluate.kernels.datum import Datum, Kernel, as_array, byte_lengths
from seine.evaluate.kernels.spending import spend
from seine.evaluate.kernels.strings import map_distinct

_EXACT = Context(prec=800, rounding=ROUND_HALF_UP)
_LONG_LINE = 1000  # bytes of a line that nobody counts
_NOT_FINITE = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}


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
        rounded = _EXACT.quantize(abs(exact), Decimal(1).scaleb(-places))
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
    mantissa = _EXACT.quantize(rounded.scaleb(-power), Decimal(1).scaleb(-places))
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
        return map_distinct(lambda text: "".join(map(str, format_directives(text, 0))), form, pa.string())
    return with_constants(_formatted, len(values))(call, (*values, form))


def _printed_column(directive: Directive, array: pa.Array, bits: int) -> pa.Array:
    encoded = array.dictionary_encode(null_encoding="encode")
    texts = [_printed(directive, value, bits) for value in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)


KERNELS: dict[str, Kernel] = {"format_string": _format_string}
