"""Explicit and implicit casts; the cast of a constant is folded where the result is certain.

Type promotion: the least common type of types, and the precision of decimal results, as Spark SQL 4.

The texts that CAST(text AS type) reads, as regular expressions that RE2 and Python read alike.

Law: where `never_parses` says so of a text, CAST gives NULL. Of the texts for which CAST gives NULL it passes
over numbers, years, times of day and zones that have the form of one and are beyond what there is.

Cites: Spark SQL reference, ANSI compliance, "Type Promotion and Precedence"
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import reduce

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, TIMESTAMP, Kind, Type
from seine.errors import SeineError

_INTERVALS = (Kind.DAY_TIME, Kind.YEAR_MONTH)
_NO_TEXT = (*_INTERVALS, Kind.TEXTS)  # that no text is cast to or, unasked, from
_EXACT = Context(prec=80, rounding=ROUND_HALF_UP)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
MAX_PRECISION = 38
MIN_SCALE = 6  # a quotient or product keeps this many fraction digits when its precision is capped
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


def literal(value: object) -> Literal:
    """A literal with the type that Spark gives it: 1 is INT, 3000000000 BIGINT, 1.50 DECIMAL(3,2).

    >>> str(literal(1).type), str(literal(3000000000).type), str(literal(Decimal("1.50")).type)
    ('INT', 'BIGINT', 'DECIMAL(3,2)')
    """
    match value:
        case None:
            return Literal(None, NULL)
        case bool():
            return Literal(value, BOOLEAN)
        case int():
            return _integer_literal(value)
        case float():
            return Literal(value, DOUBLE)
        case Decimal():
            return _decimal_literal(value)
        case str():
            return Literal(value, STRING)
        case dt.datetime():
            return Literal(value, TIMESTAMP)
        case dt.date():
            return Literal(value, Type(Kind.DATE))
    raise TypeMismatch(f"no SQL type for the constant {value!r}")


def _integer_literal(value: int) -> Literal:
    if -(2**31) <= value < 2**31:
        return Literal(value, INT)
    if -(2**63) <= value < 2**63:
        return Literal(value, BIGINT)
    return _decimal_literal(Decimal(value))


def _decimal_literal(value: Decimal) -> Literal:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise TypeMismatch(f"{value} is not a number", hint="write CAST('NaN' AS DOUBLE)")
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale, 1)
    if precision > 38:
        raise TypeMismatch(
            f"the constant {value} has more than 38 digits", hint="write it as a DOUBLE: 1.5E0"
        )
    return Literal(value, decimal(precision, scale))


def resolve_cast(expression: Expression, type_: Type) -> Expression:
    """The typed CAST(expression AS type); refuses what Spark's ANSI mode refuses.

    >>> from seine.algebra.expressions import Column
    >>> str(resolve_cast(Column(0, INT), STRING)), str(resolve_cast(literal(1), BIGINT).type)
    ('cast(#0)', 'BIGINT')
    """
    source = expression.type
    if source == type_:
        return expression
    if not _castable(source, type_):
        raise TypeMismatch(f"cannot cast {source} to {type_}", hint=_cast_hint(source, type_))
    return _cast(expression, type_)


def implied_cast(expression: Expression, type_: Type, what: str) -> Expression:
    """The implicit cast of an operand or argument to a type; `what` names it in the refusal."""
    if expression.type == type_:
        return expression
    if not _implied(expression.type, type_):
        raise TypeMismatch(f"{what} must be {type_}, not {expression.type}", hint=f"CAST(... AS {type_})")
    return _cast(expression, type_)


def _castable(source: Type, target: Type) -> bool:
    if source in (NULL, target):
        return True
    if Kind.XML in (source.kind, target.kind):
        return target == STRING
    if source == STRING or target == STRING:
        return target.kind not in _NO_TEXT and source.kind is not Kind.TEXTS
    if source.is_numeric:
        return target.is_numeric or target in (BOOLEAN, TIMESTAMP)
    if source == BOOLEAN:
        return target.is_numeric
    if source.is_temporal:
        return target.is_temporal or (source == TIMESTAMP and target.is_numeric)
    return False


def _cast_hint(source: Type, target: Type) -> str:
    if source.kind is Kind.DATE and target.is_numeric:
        return "use UNIX_DATE(...) or DATEDIFF(...)"
    if target.kind is Kind.DATE and source.is_numeric:
        return "use DATE_FROM_UNIX_DATE(...)"
    if source.kind is Kind.TEXTS:
        return "use ARRAY_JOIN(array, ',')"
    return "cast to STRING first, or compare values of one type"


def _implied(source: Type, target: Type) -> bool:
    """Whether Spark casts implicitly: store assignment, and a string to any simple type."""
    if source == NULL:
        return True
    if target == STRING:
        return source.kind not in _NO_TEXT
    if source == STRING:
        return target.kind not in (*_NO_TEXT, Kind.XML)
    if source.is_numeric and target.is_numeric:
        return True
    return source.is_temporal and target.is_temporal


def _cast(expression: Expression, type_: Type) -> Expression:
    if isinstance(expression, Literal):
        folded = _fold(expression, type_)
        if folded is not None:
            return folded
    return Call("cast", (expression,), type_)


def _fold(constant: Literal, type_: Type) -> Literal | None:
    """The cast constant where plain Python gives exactly what a row would get, or None."""
    value, source = constant.value, constant.type
    if value is None:
        return Literal(None, type_)
    if source.is_text and type_.is_text:
        return Literal(value, type_)
    if source.is_integer or source.kind is Kind.DECIMAL:
        return _fold_number(value, type_)
    if source == STRING and type_.kind is Kind.DATE and _ISO_DATE.fullmatch(value):
        try:
            return Literal(dt.date.fromisoformat(value), type_)
        except ValueError:
            return None
    return None


def _fold_number(value: int | Decimal, type_: Type) -> Literal | None:
    if type_ == BIGINT and isinstance(value, int):
        return Literal(value, type_)
    if type_ == DOUBLE:
        return Literal(float(value), type_)
    if type_.kind is Kind.DECIMAL:
        scaled = _EXACT.quantize(Decimal(value), Decimal(1).scaleb(-type_.scale))
        fits = scaled.copy_abs() < Decimal(10) ** (type_.precision - type_.scale)
        return Literal(scaled, type_) if fits else None
    return None


def decimal(precision: int, scale: int) -> Type:
    """The type DECIMAL(precision, scale)."""
    return Type(Kind.DECIMAL, precision, scale)


def as_decimal(type_: Type) -> Type:
    """The decimal that holds every value of an exact numeric type."""
    if type_ == INT:
        return decimal(10, 0)
    return decimal(20, 0) if type_ == BIGINT else type_


def capped(precision: int, scale: int) -> Type:
    """A DECIMAL result type capped at 38 digits, fraction digits being given up down to six.

    >>> str(capped(20, 4)), str(capped(45, 20))
    ('DECIMAL(20,4)', 'DECIMAL(38,13)')
    """
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    integral = precision - scale
    return decimal(MAX_PRECISION, max(MAX_PRECISION - integral, min(scale, MIN_SCALE)))


def wider_decimal(a: Type, b: Type) -> Type:
    """The DECIMAL that holds both; beyond 38 digits the integral part is kept first."""
    scale = max(a.scale, b.scale)
    precision = max(a.precision - a.scale, b.precision - b.scale) + scale
    excess = max(0, precision - MAX_PRECISION)
    return decimal(precision - excess, max(0, scale - excess))


def common_type(types: Sequence[Type]) -> Type:
    """The least common type, to which all are cast; refuses types that have none.

    >>> str(common_type([INT, decimal(5, 2)])), str(common_type([STRING, INT]))
    ('DECIMAL(12,2)', 'BIGINT')
    """
    return reduce(_common_type_of_two, types, NULL)


def _common_type_of_two(a: Type, b: Type) -> Type:
    if a == b or b == NULL:
        return a
    if a == NULL:
        return b
    if a.is_numeric and b.is_numeric:
        return _common_number(a, b)
    if a.is_text and b.is_text:
        return STRING
    if a.is_temporal and b.is_temporal:
        return TIMESTAMP
    if Kind.TEXTS in (a.kind, b.kind):
        raise TypeMismatch(
            f"{a} and {b} have no common type", hint="array_contains(array, text), or array_join"
        )
    if a.is_text or b.is_text:
        return _common_with_string(b if a.is_text else a)
    raise TypeMismatch(f"{a} and {b} have no common type", hint=f"CAST one of them, e.g. CAST(... AS {b})")


def _common_number(a: Type, b: Type) -> Type:
    if DOUBLE in (a, b):
        return DOUBLE
    if a.is_integer and b.is_integer:
        return BIGINT
    return wider_decimal(as_decimal(a), as_decimal(b))


def _common_with_string(other: Type) -> Type:
    """A string is cast to the other type: to BIGINT beside an integer, to DOUBLE beside another number."""
    if other.kind in (Kind.DAY_TIME, Kind.YEAR_MONTH):
        raise TypeMismatch(f"{STRING} and an interval have no common type", hint="write INTERVAL '...' DAY")
    if other.is_integer:
        return BIGINT
    return DOUBLE if other.is_numeric else other


class TypeMismatch(SeineError):
    """An ill-typed expression; the front end adds its position in the script."""


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
