"""Step functions of the calendar: YEAR, TRUNC and DATE_TRUNC, which never fall as time goes on.

    year(d)                  ┌── 2021      year(d) >= 2020   is   d >= 2020-01-01
                   ┌── 2020 ─┘             year(d) = 2020    is   d between 2020-01-01 and 2020-12-31
       ──── 2019 ──┘

Law: for every x of the argument's type, f(x) >= n iff x >= `least`, and f(x) <= n iff x <= `greatest`; no x
has f(x) = n iff `least` is above `greatest`.

Cites: ARGUS 5.1.1 (canonical predicates)
"""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.types import DATE
from seine.optimizer.canonical.exact_numbers import MICROS_PER_DAY, bounds

_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MICROS = {
    "day": MICROS_PER_DAY,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_FIRST_ORDINAL = dt.date(1970, 1, 1).toordinal()
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
