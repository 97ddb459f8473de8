"""The parser of durations: plain numbers for BIGINT times, intervals for TIMESTAMP times.

Time units of fixed length, in microseconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from seine.frontends.text.cursor import Cursor
from seine.frontends.text.lexer import Token, TokenKind

_AMOUNT = re.compile(r"\d+(?:\.\d*)?|\.\d+", re.ASCII)
_UNITS = "MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY or WEEK"


@dataclass(frozen=True)
class Duration:
    """A duration: `length` is in plain units or, of an interval, in microseconds."""

    length: int
    is_interval: bool
    token: Token


def read_duration(cursor: Cursor) -> Duration:
    """Parse a whole number, INTERVAL 'n' UNIT or INTERVAL n UNIT."""
    token = cursor.token
    if cursor.accept("INTERVAL"):
        return Duration(_read_interval(cursor), True, token)
    number = cursor.expect_kind(TokenKind.NUMBER, "a number or INTERVAL 'n' UNIT")
    if not number.text.isdigit():
        raise cursor.error(f"expected a whole number, found {number}", at=number)
    return Duration(_in_range(cursor, int(number.text), number), False, token)


def _read_interval(cursor: Cursor) -> int:
    amount = cursor.advance()
    if amount.kind not in (TokenKind.NUMBER, TokenKind.STRING) or not _AMOUNT.fullmatch(amount.value.strip()):
        raise cursor.error(f"expected a number, found {amount}", "write INTERVAL '20' MINUTE", at=amount)
    unit = cursor.token
    scale = MICROSECONDS.get(unit.text.upper().removesuffix("S")) if unit.kind is TokenKind.WORD else None
    if scale is None:
        raise cursor.error(f"expected a unit of time, found {unit}", f"use {_UNITS}")
    cursor.advance()
    length = Decimal(amount.value.strip()) * scale
    if length != int(length):
        raise cursor.error("an interval is a whole number of microseconds", at=amount)
    return _in_range(cursor, int(length), amount)


def _in_range(cursor: Cursor, length: int, token: Token) -> int:
    if length >= 2**62:
        raise cursor.error(f"{token} is too long a time", at=token)
    return length


MICROSECONDS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
