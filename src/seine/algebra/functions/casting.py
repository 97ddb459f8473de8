"""Explicit and implicit casts; the cast of a constant is folded where the result is certain."""

from __future__ import annotations

import datetime as dt
import re
from decimal import ROUND_HALF_UP, Context, Decimal

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.functions.widening import TypeMismatch, decimal
from seine.algebra.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, TIMESTAMP, Kind, Type

_INTERVALS = (Kind.DAY_TIME, Kind.YEAR_MONTH)
_NO_TEXT = (*_INTERVALS, Kind.TEXTS)  # that no text is cast to or, unasked, from
_EXACT = Context(prec=80, rounding=ROUND_HALF_UP)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


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
