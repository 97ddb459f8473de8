"""The texts that CAST(text AS type) reads, as regular expressions that RE2 and Python read alike.

Law: where `never_parses` says so of a text, CAST gives NULL. Of the texts for which CAST gives NULL it passes
over numbers, years, times of day and zones that have the form of one and are beyond what there is.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal, InvalidOperation

from seine.algebra.types import Kind, Type

TRIMMED = "".join(map(chr, range(33))) + "\x7f"
INTEGER = r"^[+-]?[0-9]+$"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?$"
SPECIAL_DOUBLES = ("nan", *(sign + name for sign in ("", "+", "-") for name in ("inf", "infinity")))
TRUE = ("t", "true", "y", "yes", "1")
FALSE = ("f", "false", "n", "no", "0")
DATE = (
    r"^(?P<sign>[+-]?)(?P<year>[0-9]{4,7})"
    r"(?:-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2})(?P<rest>[ T].*)?)?)?$"
)
TIME = (
    r"^[ T](?:(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})"
    r"(?::(?P<second>[0-9]{1,2})(?:\.(?P<fraction>[0-9]*))?)?"
    r" ?(?P<zone>Z|UTC|GMT|UT"
    r"|(?:(?:UTC|GMT|UT)?(?P<zsign>[+-])(?P<zhour>[0-9]{1,2})(?::?(?P<zminute>[0-9]{2}))?)"
    r"|(?P<region>[A-Z][A-Za-z_]+(?:/[A-Za-z_]+){0,2}))?)?$"
)


def never_parses(text: str, type_: Type) -> bool:
    """Whether no row can make a value of a type of a text.

    >>> from seine.algebra.types import BIGINT, DATE, DOUBLE
    >>> never_parses("2019-01-01", BIGINT), never_parses("2019-02-30", DATE), never_parses(" 1e3 ", DOUBLE)
    (True, True, False)
    """
    text = text.strip(TRIMMED)
    match type_.kind:
        case Kind.INT | Kind.BIGINT:
            return not _has_form(INTEGER, text) or not -(2**63) <= int(text[-400:]) < 2**63
        case Kind.DOUBLE:
            return not _has_form(NUMBER, text) and text.lower() not in SPECIAL_DOUBLES
        case Kind.DECIMAL:
            return not _is_decimal(text)
        case Kind.BOOLEAN:
            return text.lower() not in (*TRUE, *FALSE)
        case Kind.DATE:
            return not _is_day(text)
        case Kind.TIMESTAMP:
            return not _is_day(text) or not _has_form(TIME, _rest(text) or " ")
    return False


def _has_form(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.ASCII) is not None and not text.endswith("\n")


def _is_decimal(text: str) -> bool:
    try:
        return text.isascii() and "_" not in text and Decimal(text).is_finite()
    except InvalidOperation:
        return False


def _is_day(text: str) -> bool:
    parts = re.search(DATE, text, re.ASCII)
    if parts is None:
        return False
    year, month, day = (int(parts[name] or 1) for name in ("year", "month", "day"))
    try:
        dt.date(2000 + year % 400, month, day)  # as leap years come again
    except ValueError:
        return False
    return True


def _rest(text: str) -> str:
    parts = re.search(DATE, text, re.ASCII)
    return "" if parts is None else parts["rest"] or ""
