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
    length = Literal(span, DAY_TIME if left.type == TIMESTAMP else BIGINT)
    for earlier, later in ((right, left), (left, right)):
        yield resolve_call("le", [later, resolve_call("add", [earlier, length])])


def bucket_span(expression: Expression) -> tuple[Column, int] | None:
    """The time of which an expression is a bucket, and how far apart two times of one bucket can be.

    >>> bucket_span(Call("date_trunc", (Literal("hour", DATE), Column(2, TIMESTAMP)), TIMESTAMP))[1]
    3599999999
    """
    match expression:
        case Column(_, type_) if type_ in (BIGINT, TIMESTAMP):
            return expression, 0
        case Call("add" | "sub", (inner, Literal(value))) if value is not None:
            return bucket_span(inner)
        case Call("add", (Literal(value), inner)) if value is not None:
            return bucket_span(inner)
        case Call("mul", (inner, Literal(int(factor)))) | Call("mul", (Literal(int(factor)), inner)):
            return bucket_span(inner) if factor > 0 else None
    return _cut(expression)


def _cut(expression: Expression) -> tuple[Column, int] | None:
    """The span of what cuts a time to buckets; division is towards 0, where a bucket is twice as long."""
    match expression:
        case Call("int_div", (inner, Literal(int(divisor)))) if divisor > 0:
            return _of(inner, 2 * divisor - 2)
        case Call("sub", (inner, Call("mod" | "pmod", (same, Literal(int(divisor)))))):
            return _of(inner, 2 * divisor - 2) if inner == same and divisor > 0 else None
        case Call("date_trunc", (Literal(unit), inner)):
            return _of(inner, _LONGEST_UNITS[unit] - 1)
        case Call("cast", (inner,), type_) if type_ == DATE and inner.type == TIMESTAMP:
            return _of(inner, _DAY - 1)
    window = window_of(expression)
    if window is not None and not window.is_hopping:
        length = window.constants[0]
        return _of(window.time, length.value - 1) if isinstance(length, Literal) else None
    return None


def _of(inner: Expression, span: int) -> tuple[Column, int] | None:
    """The span of a bucket of a time, or of a time that is made of a number of seconds."""
    match inner:
        case Column(_, type_) if type_ in (BIGINT, TIMESTAMP):
            return inner, span
        case Call("timestamp_seconds", (Column() as seconds,)) if seconds.type == BIGINT:
            return seconds, -(-span // _SECOND)
    return None


def _shape(expression: Expression, column: Column) -> str:
    """An expression as text, whichever its column is."""
    return str(expression).replace(str(column), "#") + str(column.type)
