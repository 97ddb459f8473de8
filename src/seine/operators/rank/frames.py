"""The values of window functions over frames of ordered rows, for all partitions at once.

    rows of a partition in order    0  1  2  3  4          frame of row 3, ROWS 2 PRECEDING: [1, 4)

A frame is a group of its rows, folded as groups are: sums are exact, and depend on the rows alone. Frames
slide: from one to that of the next row few rows enter and few leave, so the frames of a partition are one
group at many instants, and cost what enters and leaves, however long they are.

Which rows may have other values than an instant ago: those that are near a row that begins or ends.

    rows in order          a  b  c  d  e  f  g
    alive before           1  1  1  0  1  1  1
    alive now              1  1  0  1  1  1  1       c has ended, d begins
    1 PRECEDING: may differ      x  x  x

A partition at an instant is a place, its live rows are cells, in order. Between two places of a partition
only those cells may differ that are between the first and the last row that begins or ends, and so many
beside them as frames reach: ranges of cells, found without a look at the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

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
    columns = [column.take(chosen) if i in read else column for i, column in enumerate(rows.columns)]
    named = folding.columns(columns, len(members), lambda text: None)
    if not named:
        return None
    return pa.RecordBatch.from_arrays([array for _, array in named], [name for name, _ in named])


_EVERYTHING = 2**31  # as many rows as no partition has


class ReachedRows(NamedTuple):
    """The most rows by which frames reach behind a row, and ahead of it."""

    behind: int
    ahead: int

    @staticmethod
    def of(frames: Sequence[Frame]) -> ReachedRows:
        """Together of all frames; one that goes by values may reach any row.

        >>> ReachedRows.of([Frame("rows", -10, 0), Frame("rows", -1, 2)])
        ReachedRows(behind=10, ahead=2)
        """
        behind = [_EVERYTHING if f.unit == RANGE or f.start is None else -f.start for f in frames]
        ahead = [_EVERYTHING if f.unit == RANGE or f.end is None else f.end for f in frames]
        return ReachedRows(max(0, *behind), max(0, *ahead))


class AlivePlaces(NamedTuple):
    """From which place on each row is alive, -1 if it was before, and from which no longer."""

    begins: IntArray
    ends: IntArray


class PartitionInstants(NamedTuple):
    """Partitions at instants, in order, and the rows [low, high) of the partition of each."""

    partition: IntArray
    time: IntArray
    low: IntArray
    high: IntArray


class AliveCells:
    """The cells of the places [first, last), in order, each partition with the place before its first one."""

    def __init__(self, places: PartitionInstants, lives: AlivePlaces, first: int, last: int) -> None:
        partition = places.partition[first:last]
        opens = np.append(True, partition[1:] != partition[:-1])
        at = np.arange(len(partition)) + np.cumsum(opens)
        self._is_before = np.zeros(len(partition) + int(opens.sum()), bool)
        self._is_before[at[opens] - 1] = True
        self._number = np.empty(len(self._is_before), np.int64)  # of each place
        self._number[at] = np.arange(first, last)
        self._number[self._is_before] = self._number[at[opens]] - 1
        shown = self._number + self._is_before
        low, sizes = places.low[shown], (places.high - places.low)[shown]
        row = np.arange(int(sizes.sum())) + np.repeat(low - (np.cumsum(sizes) - sizes), sizes)
        now = np.repeat(self._number, sizes)
        alive = np.flatnonzero((lives.begins[row] <= now) & (now < lives.ends[row]))
        self.row = row[alive]
        self.place = np.repeat(np.arange(len(sizes)), sizes)[alive]
        self.bounds = np.searchsorted(self.place, np.arange(len(sizes) + 1))  # the first cell of each place
        self._lives, self._time, self.partition_rows = lives, places.time, places.low[first:last][opens]

    def times(self, places: IntArray) -> IntArray:
        """The instants of places."""
        times: IntArray = self._time[self._number[places]]
        return times

    @cached_property
    def _key(self) -> IntArray:
        """Cells as numbers that ascend."""
        return np.asarray(self.place * self._span + self.row)

    @property
    def _span(self) -> int:
        return len(self._lives.begins)

    def near_changes(self, reach: ReachedRows) -> tuple[IntArray, IntArray]:
        """The cells that may differ from the place before, and those of that place that they may differ from.

        Both ascend; a cell of one has its row in the other unless the row begins or ends there.
        """
        low, high = self._changed_rows()
        into = np.flatnonzero(~self._is_before)
        return (
            self._near(into, low[into], high[into], reach),
            self._near(into - 1, low[into], high[into], reach),
        )

    def pairs(self, now: IntArray, was: IntArray) -> tuple[IntArray, IntArray]:
        """Of cells that may differ, those of the same rows: for some of `now`, who of `was`, by position."""
        key, before = self._key[now], self._key[was] + self._span
        at = np.searchsorted(before, key)
        matches = np.flatnonzero(before.take(at, mode="clip") == key) if len(before) else at[:0]
        return matches, at[matches]

    def _changed_rows(self) -> tuple[IntArray, IntArray]:
        """The first and the last row that begins at each place, or ends there."""
        number = self._number[self.place]
        begins = np.flatnonzero((self._lives.begins[self.row] == number) & ~self._is_before[self.place])
        ends = np.flatnonzero(self._lives.ends[self.row] == number + 1)
        ends = ends[~np.append(self._is_before, True)[self.place[ends] + 1]]
        place = np.concatenate([self.place[begins], self.place[ends] + 1])
        row = np.concatenate([self.row[begins], self.row[ends]])
        low, high = np.full(len(self._number), self._span), np.full(len(self._number), -1)
        np.minimum.at(low, place, row)
        np.maximum.at(high, place, row)
        return low, high

    def _near(self, places: IntArray, low: IntArray, high: IntArray, reach: ReachedRows) -> IntArray:
        """The cells of places from row to row, and those beside them that are in reach."""
        start = np.searchsorted(self._key, places * self._span + low) - reach.ahead
        stop = np.searchsorted(self._key, places * self._span + high, "right") + reach.behind
        start = np.maximum(start, self.bounds[places])
        sizes = np.maximum(np.minimum(stop, self.bounds[places + 1]) - start, 0)
        return np.asarray(np.arange(int(sizes.sum())) + np.repeat(start - (np.cumsum(sizes) - sizes), sizes))


def numbered_places(partition: IntArray, time: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Different (partition, instant) in order, and the number of each that is given.

    >>> [a.tolist() for a in numbered_places(np.array([1, 0, 1]), np.array([5, 7, 5]))]
    [[0, 1], [7, 5], [1, 0, 1]]
    """
    order = np.lexsort((time, partition))
    partition, time = partition[order], time[order]
    new = np.append(True, (partition[1:] != partition[:-1]) | (time[1:] != time[:-1]))[: len(order)]
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(new) - 1
    return partition[new], time[new], number
