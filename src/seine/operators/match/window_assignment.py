"""The assignment of rows to event-time windows: each row once for every window that has its time.

    window(ts, 10, 5)      row at 7  ──> ([0, 10), row), ([5, 15), row)
    window(ts, 20)                   ──> ([0, 20), row)

Lengths are constants of queries, a row of a parameter table each: the rows come as pairs (row, query's row of
the table), and every pair has lengths of its own. A row whose time is NULL is in no window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.event_windows import WINDOW_END, EventWindow, windows_of
from seine.algebra.expressions import Call, Expression
from seine.evaluate.kernels.spending import begin, spend
from seine.evaluate.kernels.window_bounds import latest_starts

_PAIR_BYTES = 64  # of a row in one window, at the least
Evaluating = Callable[[Expression], pa.Array]  # the values of an expression for each pair


class Assigned(NamedTuple):
    """Pairs, by number, once for each window, and the windows' starts and ends."""

    pairs: IntArray
    starts: IntArray
    ends: IntArray

    def key(self, call: Expression) -> pa.Array:
        """The values of a key that is the start or the end of the window."""
        ends = isinstance(call, Call) and call.name == WINDOW_END
        return pa.array(self.ends if ends else self.starts).view(call.type.arrow())


def window_among(expressions: Sequence[Expression]) -> EventWindow | None:
    """The window to which rows are assigned, if among expressions there is one alone."""
    windows = windows_of(expressions)
    return windows[0] if len(windows) == 1 else None


def _spend(counts: IntArray, constants: Sequence[IntArray]) -> None:
    """Count the windows of each query that asks for them, before there are any."""
    if not len(counts):
        return
    if all((one == one[0]).all() for one in constants):  # they need no sorting
        spend(size=int(counts.sum()) * _PAIR_BYTES, constants=[int(one[0]) for one in constants])
        return
    each, inverse = np.unique(np.stack(constants), axis=1, return_inverse=True)
    windows = np.bincount(inverse.reshape(-1), weights=counts, minlength=each.shape[1])
    for column, count in enumerate(windows.tolist()):
        spend(size=int(count) * _PAIR_BYTES, constants=each[:, column].tolist())


def assign(window: EventWindow, evaluating: Evaluating) -> Assigned:
    """Assign pairs to all windows that have their time."""
    time = evaluating(window.time)
    known = np.flatnonzero(time.is_valid().to_numpy(zero_copy_only=False)) if time.null_count else None
    times = time.view(pa.int64()).fill_null(0).to_numpy()
    lengths, slides, origins = (evaluating(constant).to_numpy() for constant in window.constants)
    if known is not None:
        times, lengths, slides, origins = (one[known] for one in (times, lengths, slides, origins))
    latest = latest_starts(times, slides, origins)
    counts = (latest + lengths - times - 1) // slides + 1
    begin(window.start)
    _spend(counts, (lengths, slides, origins))
    places = np.repeat(np.arange(len(times)), counts)
    back = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = latest[places] - back * slides[places]
    pairs = places if known is None else known[places]
    return Assigned(pairs, starts, starts + lengths[places])
