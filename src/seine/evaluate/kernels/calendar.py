"""Vectorised proleptic Gregorian calendar: conversions between days and months since 1970-01-01."""

from __future__ import annotations

import numpy as np

from seine.algebra.arrays import AnyArray

MICROS_PER_SECOND = 1_000_000
MICROS_PER_DAY = 86_400 * MICROS_PER_SECOND
YEAR_RANGE = (-9999, 9999)  # years outside have no dates
# two years beyond the range on both sides, so that a clipped month is still outside
_MONTH_RANGE = ((YEAR_RANGE[0] - 1970) * 12 - 24, (YEAR_RANGE[1] - 1970) * 12 + 24)


def month_of(days: AnyArray) -> AnyArray:
    """The month, since January 1970, that a day is in."""
    return days.astype("M8[D]").astype("M8[M]").astype(np.int64)


def first_day(months: AnyArray) -> AnyArray:
    """The first day of a month, both counted since 1970."""
    return months.astype("M8[M]").astype("M8[D]").astype(np.int64)


def days_from_civil(year: AnyArray, month: AnyArray, day: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Days since 1970-01-01, and which of the dates exist.

    >>> days, exists = days_from_civil(np.array([2024, 2023]), np.array([2, 2]), np.array([29, 29]))
    >>> days[0].item(), exists.tolist()
    (19782, [True, False])
    """
    exists = (year >= YEAR_RANGE[0]) & (year <= YEAR_RANGE[1]) & (month >= 1) & (month <= 12)
    months = np.where(exists, (year - 1970) * 12 + month - 1, 0)
    start = first_day(months)
    exists = exists & (day >= 1) & (day <= first_day(months + 1) - start)
    return start + day - 1, exists


def add_months(days: AnyArray, months: AnyArray) -> AnyArray:
    """Days moved by months, clipped to the last day of the target month.

    Far outside the calendar the result is a day just outside.

    >>> add_months(np.array([19782]), np.array([12])).astype("M8[D]").tolist()  # 2024-02-29
    [datetime.date(2025, 2, 28)]
    """
    month = month_of(days)
    target = np.clip(month + months, *_MONTH_RANGE)
    length = first_day(target + 1) - first_day(target)
    moved: AnyArray = first_day(target) + np.minimum(days - first_day(month), length - 1)
    return moved
