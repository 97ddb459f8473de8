"""Exact numbers: values of discrete types as integers or fractions (days, microseconds, months, decimals).

Every value of such a type is an integer multiple of the type's step and within its bounds, so that
`x > 5` can become `x >= 6`, and comparisons beyond the bounds are decided.
"""

from __future__ import annotations

import datetime as dt
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from seine.algebra.expressions import Literal
from seine.algebra.types import Kind, Type

Number: TypeAlias = int | Fraction

MICROS_PER_DAY = 86_400_000_000
_FIRST_ORDINAL = dt.date(1970, 1, 1).toordinal()
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_EXACT = Context(prec=60)
_BOUNDS = {
    Kind.INT: (-(2**31), 2**31 - 1),
    Kind.YEAR_MONTH: (-(2**31), 2**31 - 1),
    Kind.BIGINT: (-(2**63), 2**63 - 1),
    Kind.DAY_TIME: (-(2**63), 2**63 - 1),
    Kind.DATE: (-719162, 2932896),  # the years 1 to 9999
    Kind.TIMESTAMP: (-719162 * MICROS_PER_DAY, 2932897 * MICROS_PER_DAY - 1),
}


def is_exact(type_: Type) -> bool:
    """Whether values of a type are exact numbers."""
    return type_.kind in _BOUNDS or type_.kind is Kind.DECIMAL


@lru_cache(maxsize=256)
def bounds(type_: Type) -> tuple[Number, Number]:
    """The least and the greatest number of an exact type."""
    if type_.kind is Kind.DECIMAL:
        most = int_if_whole(Fraction(10**type_.precision - 1, 10**type_.scale))
        return -most, most
    return _BOUNDS[type_.kind]


@lru_cache(maxsize=256)
def step(type_: Type) -> Number:
    """The distance between consecutive values of an exact type."""
    return int_if_whole(Fraction(1, 10**type_.scale))


def int_if_whole(number: Number) -> Number:
    """An integral fraction as an int, which is faster; any other number as it is."""
    return number.numerator if number.denominator == 1 else number


def quotient(number: Number, by: Number) -> Number:
    """The exact quotient.

    >>> quotient(6, 3), quotient(1, 2)
    (2, Fraction(1, 2))
    """
    if isinstance(number, int) and isinstance(by, int) and number % by == 0:
        return number // by
    return int_if_whole(Fraction(number) / by)


def number_of(constant: Literal) -> Number:
    """The number that a constant of an exact type stands for."""
    value, kind = constant.value, constant.type.kind
    if kind is Kind.DATE:
        days: int = value.toordinal() - _FIRST_ORDINAL
        return days
    if kind is Kind.TIMESTAMP:
        micros: int = (value - _EPOCH) // _MICROSECOND
        return micros
    if kind is Kind.DECIMAL:
        whole = int(value)
        return whole if whole == value else Fraction(value)
    number: int = value
    return number


def literal_of(number: Number, type_: Type) -> Literal:
    """The constant of an exact type that stands for a number: the inverse of `number_of`.

    >>> str(literal_of(Fraction(1, 2), Type(Kind.DECIMAL, 5, 2))), str(literal_of(0, Type(Kind.DATE)))
    ('0.50', '1970-01-01')
    """
    if type_.kind is Kind.DECIMAL:
        unscaled = number * 10**type_.scale
        return Literal(_EXACT.scaleb(Decimal(unscaled.numerator), -type_.scale), type_)
    if type_.kind is Kind.DATE:
        return Literal(dt.date.fromordinal(int(number) + _FIRST_ORDINAL), type_)
    if type_.kind is Kind.TIMESTAMP:
        return Literal(_EPOCH + dt.timedelta(microseconds=int(number)), type_)
    return Literal(int(number), type_)
