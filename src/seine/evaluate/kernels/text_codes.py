"""Kernels of texts that are codes: HEX, BIN, BASE64, SOUNDEX, FIND_IN_SET, LUHN_CHECK."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence

import pyarrow as pa

from seine.algebra.expressions import Call
from seine.algebra.types import STRING
from seine.evaluate.kernels.constants import with_constants
from seine.evaluate.kernels.datum import Datum, Kernel, datum_bytes, spend_on_growth
from seine.evaluate.kernels.strings import map_distinct

_UNSIGNED = 2**64  # CONV counts in so many numbers
_LINE_SIGNS = 76  # of a line that BASE64 writes
_SOUNDS = dict(zip("BFPVCGJKQSXZDTLMNR", "111122222222334556", strict=True))


def _hex(call: Call, args: Sequence[Datum]) -> pa.Array:
    """HEX of a number in two's complement, or of the bytes of a text."""
    if call.args[0].type == STRING:
        spend_on_growth(2 * datum_bytes(args[0], len(args[0])), args, len(args[0]))
        return map_distinct(lambda text: text.encode().hex().upper(), args[0], pa.string())
    return map_distinct(lambda number: f"{number % _UNSIGNED:X}", args[0], pa.string())


def _bin(_: Call, args: Sequence[Datum]) -> pa.Array:
    return map_distinct(lambda number: f"{number % _UNSIGNED:b}", args[0], pa.string())


def _base64(_: Call, args: Sequence[Datum]) -> pa.Array:
    letters = 4 * datum_bytes(args[0], len(args[0])) // 3
    spend_on_growth(letters + 2 * letters // _LINE_SIGNS, args, len(args[0]))
    return map_distinct(_base64_lines, args[0], pa.string())


def _base64_lines(text: str) -> str:
    """BASE64, in lines of 76 signs as Spark writes them.

    >>> _base64_lines("Spark SQL"), _base64_lines("x" * 60)[-6:]
    ('U3BhcmsgU1FM', '\\r\\neHh4')
    """
    code = base64.b64encode(text.encode()).decode()
    return "\r\n".join(code[at : at + _LINE_SIGNS] for at in range(0, len(code), _LINE_SIGNS))


def _soundex(text: str) -> str:
    """The first letter, then up to three digits of sounds; a text that starts with another sign stays."""
    if not re.match(r"[A-Za-z]", text):
        return text
    code = text[0].upper()
    last = _SOUNDS.get(code, "0")
    for letter in (letter.upper() if letter.isascii() else "" for letter in text[1:]):
        if not letter.isalpha():
            last = "0"
            continue
        if letter in "HW":
            continue
        sound = _SOUNDS.get(letter, "0")
        if sound != "0" and sound != last:
            code += sound
        last = sound
    return f"{code}000"[:4]


def _find_in_set(_: Call, array: pa.Array, members: str) -> pa.Array:
    """FIND_IN_SET: the position of a text in a list with commas; 0 if it is not in it."""
    positions: dict[str, int] = {}
    for position, member in enumerate(members.split(","), 1):
        positions.setdefault(member, position)
    return map_distinct(lambda text: positions.get(text, 0), array, pa.int32())


def _luhn_check(text: str) -> bool:
    """Whether the digits of a text satisfy the Luhn formula, as card numbers do."""
    if not re.fullmatch("[0-9]+", text):
        return False
    doubled = [int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(text))]
    return sum(number // 10 + number % 10 for number in doubled) % 10 == 0


KERNELS: dict[str, Kernel] = {
    "hex": _hex,
    "bin": _bin,
    "base64": _base64,
    "soundex": lambda _, args: map_distinct(_soundex, args[0], pa.string()),
    "find_in_set": with_constants(_find_in_set, 1),
    "luhn_check": lambda _, args: map_distinct(_luhn_check, args[0], pa.bool_()),
}
