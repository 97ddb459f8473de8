"""Event-time windows as expressions: the calls `window_start` and `window_end`, and what they stand for.

    window(ts, '10 minutes', '5 minutes')      length 10, slide 5, aligned to 0 or to a start

    |----------)                 [ 0, 10)      a tuple at 7 is in two windows: [0, 10) and [5, 15)
         |----------)            [ 5, 15)
              |----------)       [10, 20)

A window of GROUP BY is two keys, its start and its end: when the watermark has passed the end, the group is
final, whatever the window's length. As a value of one row the two calls give the latest window that has the
time; as keys of groups (`operators/match/fan.py`) they give all of them, one group for each. If
length and slide are equal (a tumbling window) these are the same. A constant is a BIGINT: plain units, or
microseconds where the time is a TIMESTAMP.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seine.algebra.expressions import Call, Expression, Literal, walk
from seine.algebra.types import BIGINT, BOOLEAN, JSON

WINDOW_START, WINDOW_END = "window_start", "window_end"
WINDOW = "window"  # the pair of both, which records show as {"start": .., "end": ..}
SESSION_WINDOW = "session_window"  # likewise of a session
PAIRS = (WINDOW, SESSION_WINDOW)
_PARTITIONED = Literal(True, BOOLEAN)  # stands before the keys of sessions where they are named
SESSION, SESSION_START, SESSION_END = "session", "session_start", "session_end"
UNTIL = "until"  # until(time): the end of a row that a fan makes, if it is earlier than that of its input
CLOSING = "closing_time"  # closing_time(time): as a key of groups, the instant after which none changes
PANE = "pane"  # pane(time, span): the last instant of the span of that length that has the time


@dataclass(frozen=True)
class EventWindow:
    """The windows [start + i * slide, start + i * slide + length) of a time, for all whole i.

    Of a shape, in which lengths are parameters, `constants` are those parameters.
    """

    time: Expression
    constants: tuple[Expression, Expression, Expression]  # length, slide, start

    @property
    def start(self) -> Call:
        """The start of the window as a key."""
        return Call(WINDOW_START, (self.time, *self.constants), self.time.type)

    @property
    def end(self) -> Call:
        """The end of the window as a key."""
        return Call(WINDOW_END, (self.time, *self.constants), self.time.type)

    @property
    def pair(self) -> Call:
        """Start and end as one value."""
        return Call(WINDOW, (self.start, self.end), JSON)

    @property
    def is_hopping(self) -> bool:
        """Whether a time may be in several windows; of a shape that is not known, so it may."""
        length, slide, _ = self.constants
        return not (isinstance(length, Literal) and isinstance(slide, Literal) and length == slide)


def event_window(time: Expression, length: int, slide: int, start: int) -> EventWindow:
    """The windows with these constants.

    >>> from seine.algebra.expressions import Column
    >>> str(event_window(Column(3, BIGINT), 10, 5, 0).start)
    'window_start(#3, 10, 5, 0)'
    """
    return EventWindow(time, (Literal(length, BIGINT), Literal(slide, BIGINT), Literal(start, BIGINT)))


def window_of(expression: Expression) -> EventWindow | None:
    """The windows of which an expression is the start or the end; None of any other expression."""
    match expression:
        case Call("window_start" | "window_end", (time, length, slide, start)):
            return EventWindow(time, (length, slide, start))
    return None


def window_end_of(last: Expression) -> Expression | None:
    """The end of the window or session of which an expression is the last instant; None of any other."""
    match last:
        case Call("sub", (Call("window_end" | "session_end") as end, Literal(1))):
            return end
    return None


def windows_of(keys: Iterable[Expression]) -> list[EventWindow]:
    """The different windows among keys."""
    return list(dict.fromkeys(window for key in keys if (window := window_of(key)) is not None))


@dataclass(frozen=True)
class EventSession:
    """The sessions of a time: rows of one key, each no more than a gap after the one before it.

    A session is a key of groups, known by its first time; where it begins and ends are functions of its rows,
    the least time and the greatest with the gap added.
    """

    time: Expression
    gap: Expression
    partition: tuple[Expression, ...] | None = None  # the keys that SESSION names; None: those of GROUP BY

    @property
    def key(self) -> Call:
        """The session as a key of groups: of the other keys of these."""
        return Call(SESSION, (self.time, self.gap), self.time.type)

    @property
    def pair(self) -> Call:
        """Start and end as one value, of a group."""
        named = () if self.partition is None else (_PARTITIONED, *self.partition)
        args = (self.time, self.gap, *named)
        bounds = [Call(name, args, self.time.type) for name in (SESSION_START, SESSION_END)]
        return Call(SESSION_WINDOW, tuple(bounds), JSON)


def session_of(expression: Expression) -> EventSession | None:
    """The sessions of which an expression is the key, the start or the end; None of any other expression."""
    match expression:
        case Call("session" | "session_start" | "session_end", (time, gap, *named)):
            return EventSession(time, gap, tuple(named[1:]) if named else None)
    return None


def needs_groups(expression: Expression) -> bool:
    """Whether a part of an expression is of a hopping window or a session: it has no one value for a row."""
    parts = list(walk(expression))
    return any(window.is_hopping for window in windows_of(parts)) or any(map(session_of, parts))


def is_closing(expression: Expression) -> bool:
    """Whether a key of groups is the time after which none of its rows begins or ends."""
    return isinstance(expression, Call) and expression.name == CLOSING


def pane_of(time: Expression, span: int) -> Call:
    """The pane of a time, by its last instant: spans of one length, aligned to 0, that make up windows."""
    return Call(PANE, (time, Literal(span, BIGINT)), time.type)


def is_pane(expression: Expression) -> bool:
    """Whether an expression is the pane of a time."""
    return isinstance(expression, Call) and expression.name == PANE
