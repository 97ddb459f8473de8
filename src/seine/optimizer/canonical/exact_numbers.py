"""Exact numbers: values of discrete types as integers or fractions (days, microseconds, months, decimals).

Every value of such a type is an integer multiple of the type's step and within its bounds, so that
`x > 5` can become `x >= 6`, and comparisons beyond the bounds are decided.

Step functions of the calendar: YEAR, TRUNC and DATE_TRUNC, which never fall as time goes on.

    year(d)                  ┌── 2021      year(d) >= 2020   is   d >= 2020-01-01
                   ┌── 2020 ─┘             year(d) = 2020    is   d between 2020-01-01 and 2020-12-31
       ──── 2019 ──┘

Law: for every x of the argument's type, f(x) >= n iff x >= `least`, and f(x) <= n iff x <= `greatest`; no x
has f(x) = n iff `least` is above `greatest`.

Cites: ARGUS 5.1.1 (canonical predicates)
"""

from __future__ import annotations

import datetime as dt
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.types import DATE, Kind, Type

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


_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MICROS = {
    "day": MICROS_PER_DAY,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_FIRST_MONDAY = -3  # of the week of 1970-01-01, in days
_LAST_YEAR = 9999


class CalendarStep(NamedTuple):
    """The argument of a step function, and where it reaches a value: numbers of the argument's type."""

    argument: Expression
    least: int
    greatest: int


def calendar_step(call: Call, value: int) -> CalendarStep | None:
    """Where a step function reaches a value; None if the call is none.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import INT
    >>> calendar_step(Call("year", (Column(0, DATE),), INT), 1970)[1:]
    (0, 364)
    """
    match call:
        case Call("year", (argument,)):
            return CalendarStep(argument, _first_of_year(value), _first_of_year(value + 1) - 1)
        case Call("trunc", (argument, Literal(str(unit)))):
            start, following = _days(unit, value)
            return CalendarStep(argument, value if start == value else following, following - 1)
        case Call("date_trunc", (Literal(str(unit)), argument)):
            start, following = _micros(unit, value)
            return CalendarStep(argument, value if start == value else following, following - 1)
    return None


def _micros(unit: str, instant: int) -> tuple[int, int]:
    """When the unit of an instant begins, and when the next one does."""
    if unit in _MICROS:
        start = instant - instant % _MICROS[unit]
        return start, start + _MICROS[unit]
    start, following = _days(unit, instant // MICROS_PER_DAY)
    return start * MICROS_PER_DAY, following * MICROS_PER_DAY


def _days(unit: str, day: int) -> tuple[int, int]:
    """The first day of the unit of a day, and that of the next unit.

    >>> _days("month", 40), _days("week", 0)
    ((31, 59), (-3, 4))
    """
    if unit == "week":
        start = day - (day - _FIRST_MONDAY) % 7
        return start, start + 7
    date, length = dt.date.fromordinal(day + _FIRST_ORDINAL), _MONTHS[unit]
    month = (date.month - 1) // length * length
    return _first_of_month(date.year, month), _first_of_month(date.year, month + length)


def _first_of_month(year: int, month: int) -> int:
    """The first day of a month, counted from 0; of month 12 that of the next year."""
    if month >= 12:
        return _first_of_year(year + 1)
    return dt.date(year, month + 1, 1).toordinal() - _FIRST_ORDINAL


def _first_of_year(year: int) -> int:
    """The first day of a year; a year before or after all days begins beyond them."""
    first, last = map(int, bounds(DATE))
    if year > _LAST_YEAR:
        return last + 1
    return first if year < 1 else dt.date(year, 1, 1).toordinal() - _FIRST_ORDINAL
