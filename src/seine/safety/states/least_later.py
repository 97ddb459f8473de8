"""Bounds of keys of later times: what no key of a tuple to come is below.

date_trunc('hour', ts)     itself: it never falls
window_end(ts, 10)         ts + 1, whatever the length
window_start(ts, 10)       ts - 9, by its length
"""

from __future__ import annotations

from seine.algebra.event_windows import window_of
from seine.algebra.expressions import Expression, Literal
from seine.algebra.functions import resolve_call
from seine.algebra.monotone import monotone_in
from seine.algebra.types import BIGINT, DAY_TIME, TIMESTAMP


def least_later(key: Expression) -> Expression | None:
    """A bound such that no key of a later time is below it, as a function of the time; None if there is none.

    Of a key that never falls that is the key itself. The end of a window is later than each of its times,
    whatever its length; its start is less than the length before them.

    >>> from seine.algebra.event_windows import event_window
    >>> from seine.algebra.expressions import Column
    >>> window = event_window(Column(3, BIGINT), 10, 5, 0)
    >>> str(least_later(window.end)), str(least_later(window.start))
    ('add(#3, 1)', 'sub(#3, 9)')
    """
    window = window_of(key)
    if window is None:
        return None if monotone_in(key) is None else key
    if monotone_in(window.time) is None:
        return None
    kind = DAY_TIME if key.type == TIMESTAMP else BIGINT
    if key == window.end:
        return resolve_call("add", [window.time, Literal(1, kind)])
    length = window.constants[0]
    if not isinstance(length, Literal) or not isinstance(length.value, int):
        return None
    return resolve_call("sub", [window.time, Literal(length.value - 1, kind)])


def is_window_start(key: Expression) -> bool:
    """Whether a key is the start of a window."""
    window = window_of(key)
    return window is not None and key == window.start
