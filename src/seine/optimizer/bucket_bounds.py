"""States how far apart two times of one bucket can be, where a join is of equal buckets of time.

Two times of one bucket differ by less than the bucket is long. Stated as conditions on the times, that frees
rows like any other condition on times: when the other stream's watermark has passed the bucket.

    before: date_trunc('hour', a.ts) = date_trunc('hour', b.ts)
    after:  the same AND b.ts <= a.ts + 1 hour AND a.ts <= b.ts + 1 hour

Law: where the equality holds, the bounds hold, so that no answer changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from seine.algebra.event_windows import window_of
from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.functions import resolve_call
from seine.algebra.monotone import last_sorted_field, text_of_time
from seine.algebra.types import BIGINT, DATE, DAY_TIME, TIMESTAMP

_SECOND = 1_000_000  # microseconds
_DAY = 86_400 * _SECOND
_LONGEST_UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": _SECOND,
    "minute": 60 * _SECOND,
    "hour": 3_600 * _SECOND,
    "day": _DAY,
    "week": 7 * _DAY,
    "month": 31 * _DAY,
    "quarter": 92 * _DAY,
    "year": 366 * _DAY,
}
_LONGEST_SPAN = 1 << 62  # beyond which a bound says nothing of a time
_NUMBERS = {"unix_seconds": _SECOND, "unix_millis": 1_000, "unix_micros": 1, "unix_date": 1}  # of times
_TIMES = {"timestamp_seconds": _SECOND, "timestamp_millis": 1_000, "timestamp_micros": 1}  # of numbers


def with_bucket_bounds(conditions: Sequence[Expression]) -> tuple[Expression, ...]:
    """Conditions, and behind them the bounds of times that equalities of buckets imply."""
    bounds = [bound for condition in conditions for bound in bucket_bounds(condition)]
    return tuple(dict.fromkeys([*conditions, *bounds])) if bounds else tuple(conditions)


@lru_cache(maxsize=1 << 14)
def bucket_bounds(condition: Expression) -> tuple[Expression, ...]:
    """The bounds that an equality of two buckets implies; none of any other condition.

    >>> from seine.algebra.types import BOOLEAN
    >>> slots = [Call("int_div", (Column(i, BIGINT), Literal(10, BIGINT)), BIGINT) for i in (0, 4)]
    >>> [str(bound) for bound in bucket_bounds(Call("eq", tuple(slots), BOOLEAN))]
    ['le(#0, add(#4, 18))', 'le(#4, add(#0, 18))']
    """
    match condition:
        case Call("eq", (one, other)) if len(condition.columns) == 2:
            return tuple(_bounds(one, other))
    return ()


def _bounds(one: Expression, other: Expression) -> Iterator[Expression]:
    if isinstance(one, Column) and isinstance(other, Column):
        return
    here, there = bucket_span(one), bucket_span(other)
    if here is None or there is None or _shape(one, here[0]) != _shape(other, there[0]):
        return
    left, right, span = here[0], there[0], here[1]
    if span > _LONGEST_SPAN:
        return
    length = Literal(span, DAY_TIME if left.type == TIMESTAMP else BIGINT)
    for earlier, later in ((right, left), (left, right)):
        yield resolve_call("le", [later, resolve_call("add", [earlier, length])])


def bucket_span(expression: Expression, apart: int = 0) -> tuple[Column, int] | None:
    """The time of which an expression is a bucket, and how far apart two times can be whose buckets are no
    further than `apart`; so buckets may be of one another.

    >>> time = Column(2, TIMESTAMP)
    >>> bucket_span(Call("date_trunc", (Literal("hour", DATE), time), TIMESTAMP))[1]
    3599999999
    >>> bucket_span(resolve_call("int_div", [resolve_call("unix_seconds", [time]), Literal(10, BIGINT)]))[1]
    18999999
    """
    match expression:
        case Column(_, type_) if type_ in (BIGINT, TIMESTAMP):
            return expression, apart
        case Call("add" | "sub", (inner, Literal(value))) if value is not None:
            return bucket_span(inner, apart)
        case Call("add", (Literal(value), inner)) if value is not None:
            return bucket_span(inner, apart)
        case Call("mul", (inner, Literal(int(factor)))) | Call("mul", (Literal(int(factor)), inner)):
            return bucket_span(inner, apart // factor) if factor > 0 else None
    kinds = (_cut, _of_units, _of_text, _of_window)
    return next((span for kind in kinds if (span := kind(expression, apart)) is not None), None)


def _cut(expression: Expression, apart: int) -> tuple[Column, int] | None:
    """The span of what cuts a time to buckets; division is towards 0, where a bucket is twice as long."""
    match expression:
        case Call("int_div", (inner, Literal(int(divisor)))) if divisor > 0:
            return bucket_span(inner, (apart + 2) * divisor - 2)
        case Call("sub", (inner, Call("mod" | "pmod", (same, Literal(int(divisor)))))):
            is_cut = inner == same and divisor > 0
            return bucket_span(inner, apart + 2 * divisor - 2) if is_cut else None
        case Call("date_trunc", (Literal(unit), inner)):
            return bucket_span(inner, apart + _LONGEST_UNITS[unit] - 1)
    return None


def _of_text(expression: Expression, apart: int) -> tuple[Column, int] | None:
    """The span of a text that tells a time to some unit."""
    text = text_of_time(expression)
    last = None if text is None or apart else last_sorted_field(text[1])
    return None if text is None or last is None else bucket_span(text[0], _LONGEST_UNITS[last] - 1)


def _of_units(expression: Expression, apart: int) -> tuple[Column, int] | None:
    """The span of a time as a number of days, seconds and so on, or of such a number as a time."""
    match expression:
        case Call("cast", (inner,), type_) if type_ == DATE and inner.type == TIMESTAMP:
            return bucket_span(inner, (apart + 1) * _DAY - 1)
        case Call(name, (inner,)) if name in _NUMBERS:
            return bucket_span(inner, (apart + 1) * _NUMBERS[name] - 1)
        case Call(name, (inner,)) if name in _TIMES:
            return bucket_span(inner, apart // _TIMES[name])
    return None


def _of_window(expression: Expression, apart: int) -> tuple[Column, int] | None:
    window = window_of(expression)
    if window is None or window.is_hopping:
        return None
    length = window.constants[0]
    return bucket_span(window.time, apart + length.value - 1) if isinstance(length, Literal) else None


def _shape(expression: Expression, column: Column) -> str:
    """An expression as text, whichever its column is."""
    return str(expression).replace(str(column), "#") + str(column.type)
