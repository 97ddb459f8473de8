"""Monotone expressions: non-decreasing, unbounded functions of one column, such as date_trunc.

A bucket of time is one: as the watermark rises, no later tuple is in an earlier bucket.

    date_trunc('hour', ts)   CAST(ts AS DATE)   floor(ts / 10)   10 * (ts DIV 10)   ts - ts % 60
    date_format(ts, 'yyyy-MM-dd HH')   timestamp_seconds(ts)   window(ts, '10 minutes').start   left(ts, 10)

Sums that never fall: linear functions whose addends rise with one column.

A key of a join is a sum in one form, however the equality is written: `b = ts - ts % 10` has the key
`linear[1,-1](ts, mod(ts, 10))`. An addend with a positive coefficient may be anything that rises; one with a
negative coefficient has to be the remainder of a column that is added as often.

Texts that sort like the times that they are of: dates written from the year down.

    date_format(ts, 'yyyy-MM-dd HH')   CAST(CAST(ts AS DATE) AS STRING)   left(CAST(ts AS STRING), 10)

Years have four digits, so no later time has an earlier text. Numbers and dates that are read from them rise
too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from seine.algebra.event_windows import window_of
from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.functions.date_fields import pattern_tokens
from seine.algebra.linear import coefficients_of
from seine.algebra.types import Kind, Type

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
# the fields of a date pattern whose texts sort like the times, from the most significant on, and their units
_SORTED_FIELDS = {
    "yyyy": "year",
    "MM": "month",
    "dd": "day",
    "HH": "hour",
    "mm": "minute",
    "ss": "second",
}
_PRINTED = {Kind.DATE: "yyyy-MM-dd", Kind.TIMESTAMP: "yyyy-MM-dd HH:mm:ss"}  # a fraction may follow
_READ_AS_TIME = re.compile(r"yyyy-(MM|01)-(dd|01)( (HH|00):(mm|00)(:(ss|00))?)?")
_READ_AS_NUMBER = {
    Kind.INT: re.compile(r"yyyy(MM(dd)?)?"),  # what has hours is too large
    Kind.BIGINT: re.compile(r"yyyy(MM(dd(HH(mm(ss)?)?)?)?)?"),
}


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


def last_sorted_field(pattern: object) -> str | None:
    """The unit to which a date pattern tells times, if its texts sort like the times that they are of.

    >>> last_sorted_field("yyyy-MM-dd HH:mm"), last_sorted_field("dd.MM.yyyy"), last_sorted_field("yyyy-dd")
    ('minute', None, None)
    """
    tokens = pattern_tokens(pattern) if isinstance(pattern, str) else None
    fields = [text for is_field, text in tokens or () if is_field]
    is_sorted = bool(fields) and fields == [*_SORTED_FIELDS][: len(fields)]
    return _SORTED_FIELDS[fields[-1]] if is_sorted else None


def text_of_time(expression: Expression) -> tuple[Expression, str] | None:
    """The time of which an expression is a text that sorts like it, and the pattern of the text.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import INT, STRING, TIMESTAMP
    >>> text = Call("cast", (Column(3, TIMESTAMP),), STRING)
    >>> text_of_time(Call("left", (text, Literal(10, INT)), STRING))[1]
    'yyyy-MM-dd'
    """
    match expression:
        case Call("date_format", (inner, Literal(str(pattern)))) if last_sorted_field(pattern):
            return inner, pattern
        case Call("cast", (inner,), target) if target.kind is Kind.STRING and inner.type.kind in _PRINTED:
            return inner, _PRINTED[inner.type.kind]
        case Call("left", (inner, Literal(int(length)))) | Call(
            "substring", (inner, Literal(0 | 1), Literal(int(length)))
        ):
            return _cut(inner, length)
    return None


def _cut(text: Expression, length: int) -> tuple[Expression, str] | None:
    """The first letters of a text, the year at least; quotes of a pattern are not in its texts."""
    whole = text_of_time(text)
    if whole is None or length < len("yyyy") or not whole[1].startswith("yyyy") or "'" in whole[1]:
        return None
    return whole[0], whole[1][:length]


def is_read_in_order(pattern: str, target: Type) -> bool:
    """Whether a cast of the texts of a pattern to a type gives a time or a number, and keeps their order.

    >>> from seine.algebra.types import BIGINT, DATE
    >>> is_read_in_order("yyyyMMddHH", BIGINT), is_read_in_order("yyyy-MM-dd", BIGINT)
    (True, False)
    >>> is_read_in_order("yyyy-MM-01", DATE)
    True
    """
    read = _READ_AS_TIME if target.kind in _PRINTED else _READ_AS_NUMBER.get(target.kind)
    return read is not None and read.fullmatch(pattern) is not None
