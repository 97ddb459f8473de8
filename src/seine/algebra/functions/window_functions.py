"""The functions of event-time windows: window, session_window, window_time and the lengths that they take.

window(ts, '10 minutes')                       tumbling
window(ts, '10 minutes', '5 minutes')          hopping
window(ts, 10, 10, 3)                          of a BIGINT, in its plain units, from 3 on
session_window(ts, '5 minutes')                as long as tuples follow within 5 minutes
time_bucket(INTERVAL '10' MINUTE, ts)          the start of a tumbling one, also as date_bin
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence

from seine.algebra.event_windows import PAIRS, EventSession, event_window
from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.functions.casting import TypeMismatch, resolve_cast
from seine.algebra.functions.operator_types import resolve_arithmetic
from seine.algebra.functions.signatures import check_arity
from seine.algebra.types import BIGINT, DATE, DAY_TIME, INT, STRING, TIMESTAMP, Kind, Type

_MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_AMOUNT = re.compile(r"([+-]?\d+)\s*([a-z]+?)s?(?:\s+|$)")
MOST_WINDOWS = 10_000  # that one time may be in
_LONGEST_LENGTH = 2**62  # of a length of time, so that ends stay within a BIGINT


def resolve_window(args: Sequence[Expression]) -> Call:
    """window(time, length [, slide [, start]]): the pair of a window's start and end, as in Spark."""
    check_arity("window", args, 2, 4)
    time = window_time_of(args[0])
    length, *others = (length_of(arg, time.type) for arg in args[1:])
    slide = others[0] if others else length
    start = others[1] if len(others) > 1 else 0
    if length <= 0 or slide <= 0:
        raise TypeMismatch("the length and the slide of a window are more than 0")
    if slide > length:
        raise TypeMismatch(
            "a window's slide is longer than the window", hint="the length comes first, then the slide"
        )
    if -(-length // slide) > MOST_WINDOWS:
        raise TypeMismatch(
            f"a time would be in more than {MOST_WINDOWS:,} windows",
            hint=f"let the slide be at least {-(-length // MOST_WINDOWS):,} in the units of the length",
        )
    return event_window(time, length, slide, start % slide).pair


def resolve_session_window(
    args: Sequence[Expression], partition: tuple[Expression, ...] | None = None
) -> Call:
    """session_window(time, gap): the pair of a session's first time and its last one with the gap added.

    `partition` are its keys, where they are named.
    """
    check_arity("session_window", args, 2, 2)
    time = window_time_of(args[0])
    gap = length_of(args[1], time.type)
    if gap <= 0:
        raise TypeMismatch("the gap of a session is more than 0")
    unit = DAY_TIME if time.type == TIMESTAMP else BIGINT
    return EventSession(time, Literal(gap, unit), partition).pair


def resolve_window_time(args: Sequence[Expression]) -> Expression:
    """window_time(window): the last instant of a window, a unit before its end."""
    check_arity("window_time", args, 1, 1)
    match args[0]:
        case Call(name, (_, end)) if name in PAIRS:
            unit = Literal(1, DAY_TIME if end.type == TIMESTAMP else BIGINT)
            return resolve_arithmetic("sub", end, unit)
    raise TypeMismatch("window_time takes a window", hint="write window_time(window)")


def resolve_time_bucket(args: Sequence[Expression]) -> Expression:
    """time_bucket(length, time [, origin]): the start of the tumbling window that has a time."""
    check_arity("time_bucket", args, 2, 3)
    origin = args[2] if len(args) == 3 else Literal(_EPOCH, TIMESTAMP)
    if not isinstance(origin, Literal) or not isinstance(origin.value, dt.datetime):
        hint = "e.g. time_bucket(INTERVAL '15' MINUTE, ts, TIMESTAMP '2024-01-01 00:00:00')"
        raise TypeMismatch("the origin of time_bucket is a constant TIMESTAMP", hint=hint)
    start = Literal((origin.value - _EPOCH) // dt.timedelta(microseconds=1), DAY_TIME)
    window = resolve_window([resolve_cast(args[1], TIMESTAMP), args[0], args[0], start])
    return window.args[0]


def window_time_of(time: Expression) -> Expression:
    """The time of a window as a BIGINT or TIMESTAMP."""
    if time.type in (BIGINT, TIMESTAMP):
        return time
    if time.type in (INT, DATE):
        return resolve_cast(time, BIGINT if time.type == INT else TIMESTAMP)
    raise TypeMismatch(f"a window is of a BIGINT or a TIMESTAMP, not of {time.type}")


def length_of(arg: Expression, time: Type) -> int:
    """A constant length of time: units of a BIGINT, or microseconds of an interval or its text.

    >>> length_of(Literal("1 hour 30 minutes", STRING), TIMESTAMP)
    5400000000
    """
    length = _constant(arg, time)
    if length is None and arg.type.kind is Kind.YEAR_MONTH:
        raise TypeMismatch("a window's length is fixed, and months are not", hint="write days or weeks")
    if length is None:
        wanted = "'10 minutes'" if time == TIMESTAMP else "10, in the units of the time"
        raise TypeMismatch(f"the lengths of a window of a {time} are constants such as {wanted}")
    if abs(length) >= _LONGEST_LENGTH:
        raise TypeMismatch("this length of time is out of range")
    return length


def _constant(arg: Expression, time: Type) -> int | None:
    """The length that a constant of the right type stands for."""
    if not isinstance(arg, Literal) or arg.value is None:
        return None
    if arg.type == STRING and time == TIMESTAMP:
        return _of_text(arg.value)
    fits = arg.type.is_integer if time == BIGINT else arg.type == DAY_TIME
    return int(arg.value) if fits else None


def _of_text(text: str) -> int:
    """The microseconds of amounts with units, as Spark writes an interval."""
    amounts = text.strip().lower().removeprefix("interval").strip()
    length, at = 0, 0
    for match in _AMOUNT.finditer(amounts):
        unit = _MICROSECONDS.get(match[2])
        if match.start() != at or unit is None:
            break
        length, at = length + int(match[1]) * unit, match.end()
    if not amounts or at != len(amounts):
        raise TypeMismatch(f"{text!r} is no length of time", hint="write '10 minutes'")
    return length


WINDOW_FUNCTIONS: dict[str, Callable[[Sequence[Expression]], Expression]] = {
    "window": resolve_window,
    "session_window": resolve_session_window,
    "window_time": resolve_window_time,
    "time_bucket": resolve_time_bucket,
    "date_bin": resolve_time_bucket,
}
