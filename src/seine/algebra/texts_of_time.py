"""Texts that sort like the times that they are of: dates written from the year down.

    date_format(ts, 'yyyy-MM-dd HH')   CAST(CAST(ts AS DATE) AS STRING)   left(CAST(ts AS STRING), 10)

Years have four digits, so no later time has an earlier text. Numbers and dates that are read from them rise
too.
"""

from __future__ import annotations

import re

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.functions.date_fields import pattern_tokens
from seine.algebra.types import Kind, Type

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
