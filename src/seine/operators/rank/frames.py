"""The values of window functions over frames of ordered rows, for all partitions at once.

    rows of a partition in order    0  1  2  3  4          frame of row 3, ROWS 2 PRECEDING: [1, 4)

A frame is a group of its rows, folded as groups are: sums are exact, and depend on the rows alone. Frames
slide: from one to that of the next row few rows enter and few leave, so the frames of a partition are one
group at many instants, and cost what enters and leaves, however long they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import Literal
from seine.algebra.rank_plan import (
    CUME_DIST,
    DISTRIBUTION_FUNCTIONS,
    LAG,
    LAST_VALUE,
    LEAD,
    NTILE,
    RANGE,
    VALUE_FUNCTIONS,
    Frame,
    OverFunction,
)
from seine.evaluate.evaluate import evaluate
from seine.operators.aggregates.calls import compile_call
from seine.operators.aggregates.folding import Events, SharedFolds
from seine.operators.state.change_layout import ChangeLayout
from seine.operators.state.keyed_table import KeyedMatches
from seine.operators.state.store import MemoryStore

_LEAST_VALUE, _GREATEST_VALUE = np.iinfo(np.int64).min, np.iinfo(np.int64).max


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
    """The results of a function for some of the rows, in ascending order."""
    if function.call.function in DISTRIBUTION_FUNCTIONS:
        return _distribution(function, rows, chosen)
    low, high = _bounds(function.frame, rows, chosen)
    if function.call.function in VALUE_FUNCTIONS:
        return _one_value(function, rows, low, high)
    return _folded(function, rows, low, high, rows.first[chosen])


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
    wanted = (
        np.clip(rows.values[chosen], _LEAST_VALUE - min(offset, 0), _GREATEST_VALUE - max(offset, 0)) + offset
    )
    value = np.concatenate([rows.values, wanted])
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
    place = high - 1 if call.function == LAST_VALUE else low + function.nth - 1
    none = (high <= low) | (place >= high)
    taken = value.take(pa.array(rows.row.take(np.where(none, 0, place)), mask=none))
    default = call.args[1] if call.function in (LAG, LEAD) else None
    if isinstance(default, Literal) and default.value is not None and none.any():
        whole = pa.array([default.value], call.type.arrow())
        places = np.where(none, len(taken), np.arange(len(taken)))
        taken = pa.concat_arrays([taken, whole]).take(pa.array(places))
    return taken


def _distribution(function: OverFunction, rows: OrderedRows, chosen: IntArray) -> pa.Array:
    """Where rows are among all of their segment.

    For a row x among a b b x x c, with 3 rows before its peers, 5 up to them and 6 in all, PERCENT_RANK is
    3 / (6 - 1), CUME_DIST 5 / 6, and NTILE(2) of the first x 2, for it is the fourth.
    """
    first, count = rows.first[chosen], (rows.last - rows.first + 1)[chosen]
    if function.call.function == NTILE:
        (tiles,) = function.call.args
        assert isinstance(tiles, Literal) and isinstance(tiles.value, int)
        size, larger = np.divmod(count, tiles.value)  # the first tiles may have one row more
        before = chosen - first
        among_others = (before - larger) // np.maximum(size, 1)
        tile = np.where(before < larger * (size + 1), before // (size + 1), among_others) + 1
        return pa.array(tile, function.call.type.arrow())
    if function.call.function == CUME_DIST:
        return pa.array((_reached(rows, chosen, 0, "right") - first) / count)
    return pa.array((_reached(rows, chosen, 0, "left") - first) / np.maximum(count - 1, 1))


def _folded(
    function: OverFunction, rows: OrderedRows, low: IntArray, high: IntArray, segment: IntArray
) -> pa.Array:
    """The frames of each segment as one group that changes from frame to frame.

    Bounds ascend within a segment, so a row enters with the first frame that ends behind it, and leaves with
    the first that begins behind it.
    """
    new = np.append(True, segment[1:] != segment[:-1])[: len(segment)]
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(segment))[: len(first)] - 1
    group = np.cumsum(new) - 1
    begin = np.maximum(low, np.where(new, low, np.append(0, high[:-1])[: len(high)]))
    entering = np.maximum(high - begin, 0)
    enters = np.repeat(np.arange(len(low)), entering)
    members = np.arange(len(enters)) + np.repeat(begin - (np.cumsum(entering) - entering), entering)
    leaves = np.searchsorted(low, members, "right")
    gone = np.flatnonzero(leaves <= last[group[enters]])
    places, member = np.append(enters, leaves[gone]), np.append(np.arange(len(members)), gone)
    weights, order = np.repeat([1, -1], [len(members), len(gone)]), np.argsort(places, kind="stable")
    compiled = compile_call(function.call)
    folding = SharedFolds([compiled if len(gone) else compiled.lasting()])
    layout = ChangeLayout(first, last, group, np.zeros(len(low), np.int64))
    batch = _arguments(folding, rows, members)
    reached = layout.reached(places[order])
    events = Events(places[order], reached, weights[order], batch, member[order])
    stored = KeyedMatches(pa.schema(folding.fields), np.full(layout.groups, -1), [])
    values, _, _ = folding.advance(events, layout, stored, np.arange(layout.groups), MemoryStore())
    (made,) = folding.finish(high - low, values, np.arange(layout.size))
    return made.cast(function.call.type.arrow())


def _arguments(folding: SharedFolds, rows: OrderedRows, members: IntArray) -> pa.RecordBatch | None:
    """The columns that folds read of some rows; None if they read none."""
    chosen, read = pa.array(rows.row[members]), folding.reads
    columns = [column.take(chosen) if i in read else None for i, column in enumerate(rows.columns)]
    named = folding.columns(columns, len(members), lambda text: None)
    if not named:
        return None
    return pa.RecordBatch.from_arrays([array for _, array in named], [name for name, _ in named])
