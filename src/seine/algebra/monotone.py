"""Monotone expressions: non-decreasing, unbounded functions of one column, such as date_trunc."""

from __future__ import annotations

from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.types import Kind

_MONOTONE_FUNCTIONS = frozenset(
    {"floor", "ceil", "year", "unix_seconds", "unix_millis", "unix_micros", "unix_date"}
)
_ORDERED_KINDS = (Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP)


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
            ordered = target.kind in _ORDERED_KINDS and inner.type.kind in _ORDERED_KINDS
            return monotone_in(inner) if ordered else None
        case Call("sub", (Column() as inner, Call("mod", (same, Literal(value))))) if inner == same:
            return inner.index if isinstance(value, int) and value > 0 else None
        case Call("add" | "sub", (inner, Literal())):
            return monotone_in(inner)
        case Call("mul" | "div" | "int_div", (inner, Literal(value))):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return monotone_in(inner) if number and value > 0 else None
        case Call("date_trunc", (Literal(), inner)):
            return monotone_in(inner)
        case Call(name, (inner,)) if name in _MONOTONE_FUNCTIONS:
            return monotone_in(inner)
    return None
