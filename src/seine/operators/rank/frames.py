"""The values of window functions over frames of ordered rows, for all partitions at once.

    rows of a partition in order    0  1  2  3  4          frame of row 3, ROWS 2 PRECEDING: [1, 4)

Each frame is a group of its rows, folded as groups are: sums are exact, and depend on the rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import Literal
from seine.algebra.over_plan import LAG, LAST_VALUE, LEAD, RANGE, VALUE_FUNCTIONS, Frame, OverFunction
from seine.evaluate.evaluate import evaluate
from seine.operators.aggregates.calls import compile_call
from seine.operators.aggregates.folding import Events, SharedFolds
from seine.operators.state.change_layout import ChangeLayout
from seine.operators.state.keyed_table import KeyedMatches
from seine.operators.state.store import MemoryStore

MOST_MEMBERS = 1 << 20  # rows of frames that are folded at once, unless one frame has more


@dataclass(frozen=True)
class OrderedRows:
    """Rows in order, those of a segment (a partition at an instant) side by side, from `first` to `last`.

    `row` says which row of the columns each of them is. `peers` ascend; `values` are those of ORDER BY where
    a frame goes by them, ascending in a segment.
    """

    columns: Sequence[pa.Array]
    row: IntArray
    first: IntArray
    last: IntArray
    peers: IntArray
    values: IntArray | None


def frame_values(function: OverFunction, rows: OrderedRows, chosen: IntArray) -> pa.Array:
    """The results of a function for some of the rows."""
    call = function.call
    low, high = _bounds(function.frame, rows, chosen)
    if call.function in VALUE_FUNCTIONS:
        return _one_value(function, rows, low, high)
    pieces, at = [], 0
    ends = np.cumsum(high - low)
    while at < len(chosen):
        base = ends[at - 1] if at else 0
        stop = max(at + 1, int(np.searchsorted(ends, base + MOST_MEMBERS, "right")))
        pieces.append(_folded(function, rows, low[at:stop], high[at:stop]))
        at = stop
    return pa.concat_arrays(pieces) if pieces else pa.nulls(0, call.type.arrow())


def _bounds(frame: Frame, rows: OrderedRows, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """The rows [low, high) of each frame."""
    first, stop = rows.first[chosen], rows.last[chosen] + 1
    if frame.unit != RANGE:
        low = first if frame.start is None else chosen + frame.start
        high = stop if frame.end is None else chosen + frame.end + 1
    else:
        low = first if frame.start is None else _reached(rows, chosen, frame.start, "left")
        high = stop if frame.end is None else _reached(rows, chosen, frame.end, "right")
    low, high = np.clip(low, first, stop), np.clip(high, first, stop)
    return low, np.maximum(low, high)


def _reached(rows: OrderedRows, chosen: IntArray, offset: int, side: str) -> IntArray:
    """Where a frame begins or ends that goes by values."""
    left = side == "left"
    if offset == 0:
        return np.searchsorted(rows.peers, rows.peers[chosen], "left" if left else "right")
    assert rows.values is not None
    count = len(rows.values)
    segment = np.concatenate([rows.first, rows.first[chosen]])
    value = np.concatenate([rows.values, rows.values[chosen] + offset])
    later = np.repeat([1, 0] if left else [0, 1], [count, len(chosen)])  # who of equal ones comes later
    order = np.lexsort((later, value, segment))
    before = np.cumsum(order < count)  # rows of earlier segments are all before
    places = np.empty(len(value), np.int64)
    places[order] = before
    return places[count:]


def _one_value(function: OverFunction, rows: OrderedRows, low: IntArray, high: IntArray) -> pa.Array:
    """The value of one row of each frame; NULL, or the default, if it has none."""
    call = function.call
    value = evaluate(call.args[0], rows.columns, len(rows.columns[0]))
    place = high - 1 if call.function == LAST_VALUE else low
    none = high <= low
    taken = value.take(pa.array(rows.row.take(np.where(none, 0, place)), mask=none))
    default = call.args[1] if call.function in (LAG, LEAD) else None
    if isinstance(default, Literal) and default.value is not None and none.any():
        whole = pa.array([default.value], call.type.arrow())
        places = np.where(none, len(taken), np.arange(len(taken)))
        taken = pa.concat_arrays([taken, whole]).take(pa.array(places))
    return taken


def _folded(function: OverFunction, rows: OrderedRows, low: IntArray, high: IntArray) -> pa.Array:
    folding = SharedFolds([compile_call(function.call).lasting()])
    sizes, count = high - low, len(low)
    places = np.repeat(np.arange(count), sizes)
    members = np.arange(len(places)) - (np.cumsum(sizes) - sizes)[places] + low[places]
    chosen, read = pa.array(rows.row[members]), folding.reads
    columns = [column.take(chosen) if i in read else None for i, column in enumerate(rows.columns)]
    named = folding.columns(columns, len(members), lambda text: None)
    batch = (
        pa.RecordBatch.from_arrays([array for _, array in named], [name for name, _ in named])
        if named
        else None
    )
    each = np.arange(count)
    layout = ChangeLayout(each, each, each, np.zeros(count, np.int64))
    weights = np.ones(len(members), np.int64)
    events = Events(places, layout.reached(places), weights, batch, np.arange(len(members)))
    stored = KeyedMatches(pa.schema(folding.fields), np.full(count, -1), [])
    values, _, _ = folding.advance(events, layout, stored, each, MemoryStore())
    (made,) = folding.finish(sizes, values, each)
    return made.cast(function.call.type.arrow())
