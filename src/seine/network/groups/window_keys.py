"""Windows among the keys of groups, with their lengths taken out as parameters: a window's size is a row.

GROUP BY window(ts, 10)           window_start(ts, ?0, ?1, ?2)     row (10, 10, 0) of the fan's table
GROUP BY window(ts, 20, 5)                                         row (20,  5, 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seine.algebra.event_windows import EventWindow, is_pane, window_of, windows_of
from seine.algebra.expressions import Expression, Literal, Parameter
from seine.network.plan.block_conditions import Shaped


def with_window_parameters(shape: Shaped, keys: Sequence[Expression]) -> tuple[Shaped, list[Expression]]:
    """The constants of the window of GROUP BY behind those of the conditions, and keys that refer to them."""
    windows = windows_of(keys)
    if len(windows) != 1:
        return shape, list(keys)
    (window,) = windows
    constants = [constant for constant in window.constants if isinstance(constant, Literal)]
    first = len(shape.constants)
    length, slide, start = (Parameter(first + i, one.type) for i, one in enumerate(window.constants))
    general = EventWindow(window.time, (length, slide, start))
    by_key: dict[Expression, Expression] = {window.start: general.start, window.end: general.end}
    return replace(shape, constants=(*shape.constants, *constants)), [by_key.get(key, key) for key in keys]


def has_window(keys: Sequence[Expression]) -> bool:
    """Whether groups are of windows or panes: other groups are not made of these."""
    return any(window_of(key) is not None or is_pane(key) for key in keys)
