"""Binds SQL literals (numbers, typed strings, intervals) and the types of CAST."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from seine.algebra.expressions import Expression, Literal
from seine.algebra.functions import literal, resolve_cast
from seine.algebra.types import (
    BIGINT,
    BOOLEAN,
    CAST_TYPES,
    DATE,
    DAY_TIME,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    YEAR_MONTH,
    Kind,
    Type,
    holder_hint,
)
from seine.frontends.sql.scope import Context
from seine.frontends.text.cursor import MICROSECONDS

_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_ISO_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_TYPES = {
    "BOOLEAN": BOOLEAN,
    "INT": INT,
    "BIGINT": BIGINT,
    "DOUBLE": DOUBLE,
    "TEXT": STRING,
    "VARCHAR": STRING,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMPTZ": TIMESTAMP,
    "TIMESTAMPLTZ": TIMESTAMP,
}


def number(text: str) -> Literal:
    """A numeric literal with Spark's type: INT, BIGINT, DECIMAL, or DOUBLE with an exponent.

    >>> str(number("7").type), str(number("7.50").type), str(number("7e0").type)
    ('INT', 'DECIMAL(3,2)', 'DOUBLE')
    """
    if text.removeprefix("-").isdigit():
        return literal(int(text))
    return literal(float(text)) if "e" in text.lower() else literal(Decimal(text))


def constant_cast(value: Expression, type_: Type) -> Expression:
    """A cast; that of a constant timestamp text is folded."""
    if isinstance(value, Literal) and value.type == STRING and type_ == TIMESTAMP:
        instant = _instant(value.value)
        if instant is not None:
            return Literal(instant, TIMESTAMP)
    return resolve_cast(value, type_)


def _instant(text: str) -> dt.datetime | None:
    """The instant of an ISO timestamp or date, UTC by default; None for any other text."""
    if not _ISO_TIMESTAMP.fullmatch(text):
        return None
    try:
        instant = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant.replace(tzinfo=dt.UTC) if instant.tzinfo is None else instant.astimezone(dt.UTC)


def interval(node: exp.Interval, context: Context) -> Literal:
    """The literal of INTERVAL 'n' UNIT: microseconds, or months for MONTH, QUARTER and YEAR."""
    unit = node.args.get("unit")
    name = unit.name.upper().removesuffix("S") if isinstance(unit, exp.Var) else ""
    amount = _amount(node.this)
    if amount is None or name not in {*MICROSECONDS, *_MONTHS}:
        raise context.error(node, "an interval is a constant number of one unit", "write INTERVAL '5' MINUTE")
    months = name in _MONTHS
    length = amount * (_MONTHS[name] if months else MICROSECONDS[name])
    if length != int(length) or abs(length) >= (2**31 if months else 2**63):
        raise context.error(node, f"{node.this.name} {name} is not a whole interval in range")
    return Literal(int(length), YEAR_MONTH if months else DAY_TIME)


def _amount(node: exp.Expr | None) -> Decimal | None:
    negative = isinstance(node, exp.Neg)
    inner = node.this if negative and node is not None else node
    if not isinstance(inner, exp.Literal):
        return None
    try:
        amount = Decimal(inner.name.strip())
    except InvalidOperation:
        return None
    if not amount.is_finite():
        return None
    return -amount if negative else amount


def cast_type(node: exp.DataType, context: Context, at: exp.Expr) -> Type:
    """The target type of a CAST; refuses an unsupported one."""
    name = node.this.name if isinstance(node.this, exp.DataType.Type) else str(node.this)
    if name == "DECIMAL":
        return _decimal(node, context, at)
    if name not in _TYPES:
        raise context.error(at, f"cannot cast to {name}", holder_hint(name) or f"types: {CAST_TYPES}")
    if _TYPES[name] == TIMESTAMP and any(part.name not in "0123456" for part in node.expressions):
        raise context.error(at, "a TIMESTAMP has 0 to 6 digits after the second", "write TIMESTAMP")
    return _TYPES[name]


def _decimal(node: exp.DataType, context: Context, at: exp.Expr) -> Type:
    try:
        digits = [int(parameter.name) for parameter in node.expressions]
        precision, scale = [*digits, *(10, 0)[len(digits) :]]
        return Type(Kind.DECIMAL, precision, scale)
    except ValueError:
        raise context.error(at, "a DECIMAL has 1 to 38 digits, of which 0 to all are fraction") from None
