"""Monotone expressions: non-decreasing, unbounded functions of one column, such as date_trunc.

A bucket of time is one: as the watermark rises, no later tuple is in an earlier bucket.

    date_trunc('hour', ts)   CAST(ts AS DATE)   floor(ts / 10)   10 * (ts DIV 10)   ts - ts % 60
    date_format(ts, 'yyyy-MM-dd HH')   timestamp_seconds(ts)   window(ts, '10 minutes').start
"""

from __future__ import annotations

from seine.algebra.event_windows import window_of
from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.functions.date_fields import pattern_tokens
from seine.algebra.monotone_sums import rising_sum
from seine.algebra.types import Kind

_MONOTONE_FUNCTIONS = frozenset(
    {
        "floor",
        "ceil",
        "round",
        "bround",
        "year",
        "last_day",
        "unix_seconds",
        "unix_millis",
        "unix_micros",
        "unix_date",
        "timestamp_seconds",
        "timestamp_millis",
        "timestamp_micros",
        "date_from_unix_date",
    }
)
_ORDERED_KINDS = (Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP)
# the fields of a date pattern whose texts sort like the times, from the most significant on
_SORTED_FIELDS = ("yyyy", "MM", "dd", "HH", "mm", "ss")


def monotone_in(expression: Expression) -> int | None:
    """The column of which an expression is a non-decreasing, unbounded function; None if there is none.

    >>> from seine.algebra.types import BIGINT
    >>> time, ten = Column(3, BIGINT), Literal(10, BIGINT)
    >>> monotone_in(Call("int_div", (time, ten), BIGINT)), monotone_in(Call("mod", (time, ten), BIGINT))
    (3, None)
    """
    match expression:
        case Column(index, _):
            return index
        case Call("cast", (inner,), target):
            ordered = target.kind in _ORDERED_KINDS and inner.type.kind in (*_ORDERED_KINDS, Kind.INT)
            return monotone_in(inner) if ordered else None
        case Call("sub", (inner, Call("mod" | "pmod", (same, divisor)))) if inner == same:
            return monotone_in(inner) if _is_positive(divisor) and inner.type.is_integer else None
        case Call("add" | "sub", (inner, Literal())) | Call("add", (Literal(), inner)):
            return monotone_in(inner)
        case Call("mul" | "div" | "int_div", (inner, factor)) if _is_positive(factor):
            return monotone_in(inner)
        case Call("mul", (factor, inner)) if _is_positive(factor):
            return monotone_in(inner)
        case Call("date_trunc", (Literal(), inner)) | Call(
            "trunc" | "date_add" | "date_sub", (inner, Literal())
        ):
            return monotone_in(inner)
        case Call("date_format", (inner, Literal(pattern))) if sorts(pattern):
            return monotone_in(inner)
        case Call(name, (inner, *scale)) if name in _MONOTONE_FUNCTIONS and _are_constant(scale):
            return monotone_in(inner) if inner.type.kind is not Kind.STRING else None
    window = window_of(expression)
    if window is None:
        return rising_sum(expression, monotone_in)
    return None if window.is_hopping else monotone_in(window.time)


def sorts(pattern: object) -> bool:
    """Whether the texts of a date pattern sort like the times that they are of.

    >>> sorts("yyyy-MM-dd HH:mm"), sorts("dd.MM.yyyy"), sorts("yyyy-dd")
    (True, False, False)
    """
    tokens = pattern_tokens(pattern) if isinstance(pattern, str) else None
    fields = [text for is_field, text in tokens or () if is_field]
    return bool(fields) and (*fields,) == _SORTED_FIELDS[: len(fields)]


def _is_positive(expression: Expression) -> bool:
    match expression:
        case Literal(value):
            return not isinstance(value, bool | str | None) and value > 0
        case Call("cast", (inner,)):
            return _is_positive(inner)
    return False


def _are_constant(expressions: list[Expression]) -> bool:
    return all(isinstance(expression, Literal) for expression in expressions)
