"""Makers of expressions over constants, for tables of examples."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

from seine.algebra.expressions import Expression, Literal
from seine.algebra.functions import literal, resolve_call, resolve_cast
from seine.algebra.types import (
    BIGINT,
    DATE,
    DAY_TIME,
    DOUBLE,
    TIMESTAMP,
    YEAR_MONTH,
    Type,
)

Example = tuple[Expression, Any]  # and its value in Spark SQL 4, NULL where Spark would fail
NAN, INF = math.nan, math.inf
MIN64, MAX64 = -(2**63), 2**63 - 1
DAY = 86_400_000_000
D = Decimal


def decimal(precision: int, scale: int) -> Type:
    return Type.parse(f"DECIMAL({precision},{scale})")


def lift(value: Any) -> Expression:
    return value if isinstance(value, Expression) else literal(value)


def fn(name: str, *args: Any) -> Expression:
    return resolve_call(name, [lift(arg) for arg in args])


def cast(value: Any, type_: Type | str) -> Expression:
    return resolve_cast(lift(value), Type.parse(type_) if isinstance(type_, str) else type_)


def big(value: int) -> Literal:
    return Literal(value, BIGINT)


def dbl(value: float) -> Literal:
    return Literal(value, DOUBLE)


def null(type_: Type) -> Literal:
    return Literal(None, type_)


def date(text: str) -> Literal:
    return Literal(dt.date.fromisoformat(text), DATE)


def ts(text: str) -> Literal:
    return Literal(dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC), TIMESTAMP)


def interval(micros: int) -> Literal:
    return Literal(micros, DAY_TIME)


def months(count: int) -> Literal:
    return Literal(count, YEAR_MONTH)
