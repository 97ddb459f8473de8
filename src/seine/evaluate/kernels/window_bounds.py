"""Kernels of event-time windows: the latest window that has a time, and a window as a JSON object."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Call
from seine.evaluate.kernels.datum import Datum, Kernel, all_valid, as_array, build, row_count, values
from seine.rows.json_values import json_objects


def latest_starts(times: AnyArray, slides: AnyArray, origins: AnyArray) -> AnyArray:
    """The start of the latest window that begins at or before each time.

    >>> latest_starts(np.array([-1, 0, 7]), np.array(5), np.array(1)).tolist()
    [-4, -4, 6]
    """
    starts: AnyArray = times - np.mod(times - origins, slides)
    return starts


def _bound(of_end: bool) -> Kernel:
    def kernel(call: Call, args: Sequence[Datum]) -> pa.Array:
        times, lengths, slides, origins = map(values, args)
        starts = latest_starts(times, slides, origins)
        data = starts + lengths if of_end else starts
        return build(call.type, data, all_valid(args), row_count(args))

    return kernel


def _pair(call: Call, args: Sequence[Datum]) -> pa.Array:
    """A window as records show it."""
    start, end = (as_array(arg, row_count(args)) for arg in args)
    types = [arg.type for arg in call.args]
    objects = json_objects(("start", "end"), types, [start, end])
    return pc.if_else(pc.and_(start.is_valid(), end.is_valid()), objects, pa.scalar(None, pa.string()))


def _pane(call: Call, args: Sequence[Datum]) -> pa.Array:
    """The last instant of the span that has a time."""
    times, spans = map(values, args)
    last = latest_starts(times, spans, np.zeros_like(spans)) + spans - 1
    return build(call.type, last, all_valid(args), row_count(args))


KERNELS: dict[str, Kernel] = {
    "window_start": _bound(of_end=False),
    "window_end": _bound(of_end=True),
    "window": _pair,
    "session_window": _pair,
    "pane": _pane,
    **dict.fromkeys(("until", "closing_time"), lambda call, args: as_array(args[0], row_count(args))),
}
