"""Monotone expressions: non-decreasing, unbounded functions of one column, such as date_trunc.

A bucket of time is one: as the watermark rises, no later tuple is in an earlier bucket.

    date_trunc('hour', ts)   CAST(ts AS DATE)   floor(ts / 10)   10 * (ts DIV 10)   ts - ts % 60
    date_format(ts, 'yyyy-MM-dd HH')   timestamp_seconds(ts)   window(ts, '10 minutes').start   left(ts, 10)

Sums that never fall: linear functions whose addends rise with one column.

A key of a join is a sum in one form, however the equality is written: `b = ts - ts % 10` has the key
`linear[1,-1](ts, mod(ts, 10))`. An addend with a positive coefficient may be anything that rises; one with a
negative coefficient has to be the remainder of a column that is added as often.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from seine.algebra.event_windows import window_of
from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.linear_names import coefficients_of
from seine.algebra.texts_of_time import is_read_in_order, text_of_time
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
        "datediff",
        "add_months",
        "next_day",
        "shiftright",
    }
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
        case Call("cast", (inner,), target) if target.kind is not Kind.STRING:
            text = text_of_time(inner)
            if text is not None:
                return monotone_in(text[0]) if is_read_in_order(text[1], target) else None
            ordered = target.kind in _ORDERED_KINDS and inner.type.kind in (*_ORDERED_KINDS, Kind.INT)
            return monotone_in(inner) if ordered else None
        case Call("sub", (inner, Call("mod" | "pmod", (same, divisor)))) if inner == same:
            return monotone_in(inner) if _is_positive(divisor) and inner.type.is_integer else None
        case Call("add" | "sub", (inner, constant)) if not constant.columns:
            return monotone_in(inner)
        case Call("add", (constant, inner)) if not constant.columns:
            return monotone_in(inner)
        case Call("mul" | "div" | "int_div", (inner, factor)) if _is_positive(factor):
            return monotone_in(inner)
        case Call("mul", (factor, inner)) if _is_positive(factor):
            return monotone_in(inner)
        case Call("date_trunc", (Literal(), inner)) | Call(
            "trunc" | "date_add" | "date_sub", (inner, Literal())
        ):
            return monotone_in(inner)
        case Call(name, (inner, *scale)) if name in _MONOTONE_FUNCTIONS and _are_constant(scale):
            return monotone_in(inner) if inner.type.kind is not Kind.STRING else None
    text, window = text_of_time(expression), window_of(expression)
    if text is not None:
        return monotone_in(text[0])
    if window is None:
        return rising_sum(expression, monotone_in)
    return None if window.is_hopping else monotone_in(window.time)


def _is_positive(expression: Expression) -> bool:
    match expression:
        case Literal(value):
            return not isinstance(value, bool | str | None) and value > 0
        case Call("cast", (inner,)):
            return _is_positive(inner)
    return False


def _are_constant(expressions: list[Expression]) -> bool:
    return all(isinstance(expression, Literal) for expression in expressions)


def rising_sum(expression: Expression, rises_in: Callable[[Expression], int | None]) -> int | None:
    """The column in which a linear function rises; None if it does not, or is none.

    `rises_in` tells it of an addend.

    >>> from seine.algebra.monotone import monotone_in
    >>> from seine.algebra.types import BIGINT
    >>> time, ten = Column(3, BIGINT), Literal(10, BIGINT)
    >>> rest = Call("mod", (time, ten), BIGINT)
    >>> rising_sum(Call("linear[1,-1]", (time, rest), BIGINT), monotone_in)
    3
    >>> rising_sum(Call("linear[1,-2]", (time, rest), BIGINT), monotone_in)
    """
    coefficients = coefficients_of(expression.name) if isinstance(expression, Call) else None
    if coefficients is None:
        return None
    assert isinstance(expression, Call)
    addends = [
        pair for pair in zip(coefficients, expression.args, strict=True) if not isinstance(pair[1], Literal)
    ]
    risen = [rises_in(base) for coefficient, base in addends if coefficient > 0]
    fallen = [base for coefficient, base in addends if coefficient <= 0]
    if not risen or len({*risen}) != 1 or not all(_is_remainder(base, addends) for base in fallen):
        return None
    return risen[0]


def _is_remainder(base: Expression, addends: Sequence[tuple[int, Expression]]) -> bool:
    """Whether an addend takes away the remainder of a column that is added as often."""
    match base:
        case Call("mod", (Column() as column, Literal(int(value)))) if value > 0:
            taken = sum(-c for c, other in addends if c < 0 and other.columns == column.columns)
            return taken <= sum(c for c, other in addends if other == column)
    return False
