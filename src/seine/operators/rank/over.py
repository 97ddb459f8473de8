"""Window functions with frames, as rows come and go: aggregates, LAG, LEAD, FIRST_VALUE, LAST_VALUE.

Law: at every instant the rows that have begun and not ended are the live rows, each with the values of its
frames.

    rows ──> begins, ends ──(progress)──> live rows by partition, in order ──> values by instant ──> changes

Where values are fixed when the instant of a row is complete (frames that look back in the order of time, over
rows that never end), each row is emitted once, and only the last rows of a partition are kept, as far as
frames reach. Otherwise all rows alive are, and a partition to which something happens is computed anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.over_plan import RANGE
from seine.algebra.rank_plan import Ordering
from seine.operators.rank.frames import OrderedRows, frame_values
from seine.operators.rank.live_rows import BEGUN, DueRows
from seine.operators.rank.partitions import PartitionOperator
from seine.operators.rank.shown_changes import NumberedEntries
from seine.operators.state.identified_rows import open_rows, take_identities
from seine.operators.state.keyed_table import HASH
from seine.operators.state.store import Store
from seine.rows.delta import FOREVER, NEVER, Delta
from seine.rows.grouping import as_mask, group_rows
from seine.rows.hashing import hash_columns

if TYPE_CHECKING:
    from seine.operators.rank.over_node import OverNode

MOST_CELLS = 1 << 18  # rows at instants that are computed at once, unless one instant has more
_NULL_ORDER_VALUE = 2**61  # the value of a NULL in ORDER BY, or its opposite


class OverOperator(PartitionOperator):
    """The window functions of one node in one bucket."""

    def __init__(self, node: OverNode, buckets: int = 1) -> None:
        width = len(node.ports[0].types)
        values = {f"c{width + i}": f.call.type.arrow() for i, f in enumerate(node.functions)}
        super().__init__(node, buckets, values, False)
        self._functions, self._reach = node.functions, node.reach
        self._values = [*values]
        ranges = [function.frame for function in node.functions if function.frame.unit == RANGE]
        has_offsets = any(bound for frame in ranges for bound in (frame.start, frame.end))
        self._by_value = node.order[0] if has_offsets else None

    def _answer(self, due: DueRows, store: Store) -> Iterator[Delta]:
        held = self._live.held(due.hashes, store)
        yield from self._change(held, due, store) if self._reach is None else self._append(held, due, store)

    def _append(self, held: pa.RecordBatch, due: DueRows, store: Store) -> Iterator[Delta]:
        """Emit rows that begin with values that never change."""
        rows, order = self._ordered([held, due.begins])
        sequence = np.argsort(order.entry, kind="stable")
        partition = order.partition[order.entry[sequence]]
        fresh = np.flatnonzero(sequence >= held.num_rows)
        ordered = rows.take(pa.array(sequence))
        cells = self._cells(ordered, partition, order.peers[order.entry[sequence]])
        columns = [ordered[name].take(pa.array(fresh)) for name in self._data]
        columns += [frame_values(function, cells, fresh) for function in self._functions]
        starts = ordered[BEGUN].to_numpy()[fresh]
        yield Delta(open_rows(starts, take_identities(store, len(fresh)), columns))
        kept = np.empty(rows.num_rows, bool)
        kept[sequence] = self._in_reach(partition, ordered[BEGUN].to_numpy(), due.bound)
        self._live.settle(held, due, kept, store)

    def _in_reach(self, partition: IntArray, times: IntArray, bound: int) -> BoolArray:
        """Which rows, in order, frames of rows to come may have."""
        assert self._reach is not None
        rows, time = self._reach.rows, self._reach.time
        if rows is None or time is None:
            return np.ones(len(times), bool)
        behind = np.searchsorted(partition, partition, "right") - np.arange(len(partition))
        return np.asarray(
            (behind <= rows) | ((times >= bound - time) if time else np.zeros(len(times), bool))
        )

    def _change(self, held: pa.RecordBatch, due: DueRows, store: Store) -> Iterator[Delta]:
        """Emit what changes, instant by instant, in the partitions to which something happens."""
        rows, order = self._ordered([held, due.begins])
        sequence = np.argsort(order.entry, kind="stable")
        ends = self._live.end_times(held, due)
        starts = np.concatenate([np.full(held.num_rows, NEVER), due.begins[BEGUN].to_numpy()])
        partition = order.partition[order.entry]
        over = np.flatnonzero(ends < FOREVER)
        happens = np.concatenate([partition[held.num_rows :], partition[over]])
        times = np.concatenate([starts[held.num_rows :], ends[over]])
        places = np.unique(np.stack([happens, times], axis=1), axis=0)
        of, at = places[:, 0], places[:, 1]
        ordered, lives = rows.take(pa.array(sequence)), (starts[sequence], ends[sequence])
        partition, peers = partition[sequence], order.peers[order.entry[sequence]]
        low, high = np.searchsorted(partition, of), np.searchsorted(partition, of, "right")
        for first, last in _slices(high - low):
            piece = slice(first, last)
            cells, place = _alive(low[piece], high[piece], at[piece], lives)
            chosen = ordered.take(pa.array(cells))
            opens = np.unique(of[piece], return_index=True)[1]
            examples = ordered.take(pa.array(low[piece][opens]))
            instants = _Places(of[piece], at[piece], opens, examples)
            yield from self._differ(chosen, place, peers[cells], instants, store)
        self._live.settle(held, due, ends == FOREVER, store)

    def _differ(
        self,
        rows: pa.RecordBatch,
        place: IntArray,
        peers: IntArray,
        instants: _Places,
        store: Store,
    ) -> Iterator[Delta]:
        """What changes from place to place; `rows` are alive at these places, in order."""
        before = self._shown.of(np.unique(instants.examples[HASH].to_numpy()), store)
        cells = self._cells(rows, place, peers)
        everyone = np.arange(rows.num_rows)
        for name, function in zip(self._values, self._functions, strict=True):
            rows = rows.append_column(name, frame_values(function, cells, everyone))
        names = [*self._compared, *self._values]
        both = pa.concat_batches([rows.select(names), before.select(names)])
        groups = group_rows(hash_columns(both.columns, both.num_rows), both.columns)
        label = np.empty(both.num_rows, np.int64)
        label[groups.order] = groups.labels()
        now, was = label[: rows.num_rows], label[rows.num_rows :]
        opens = self._opens(before, instants.examples, instants.opens)
        begun, ended = _changes(now, place, was, opens, instants.partition, instants.time)
        yield from self._shown.change(before, was, begun, ended, both.take(pa.array(groups.firsts)), store)

    def _opens(self, before: pa.RecordBatch, examples: pa.RecordBatch, first: IntArray) -> IntArray:
        """The first place of the partition of each row that was shown; of each partition there is a row."""
        names = [HASH, *self._partition]
        both = pa.concat_batches([examples.select(names), before.select(names)])
        groups = group_rows(both[HASH].to_numpy(), [both[name] for name in self._partition])
        label = np.empty(both.num_rows, np.int64)
        label[groups.order] = groups.labels()
        opens = np.zeros(len(groups.starts), np.int64)
        opens[label[: examples.num_rows]] = first
        return np.asarray(opens[label[examples.num_rows :]])

    def _cells(self, rows: pa.RecordBatch, segment: IntArray, peers: IntArray) -> OrderedRows:
        first, last = np.searchsorted(segment, segment), np.searchsorted(segment, segment, "right") - 1
        new = np.ones(len(segment), np.int64)
        new[1:] = (segment[1:] != segment[:-1]) | (peers[1:] != peers[:-1])
        values = None if self._by_value is None else _order_values(rows, self._by_value)
        return OrderedRows([rows[name] for name in self._data], first, last, np.cumsum(new), values)


class _Places(NamedTuple):
    """Partitions at instants, in order: the first place of each partition, and a row of it."""

    partition: IntArray
    time: IntArray
    opens: IntArray
    examples: pa.RecordBatch


def _order_values(rows: pa.RecordBatch, order: Ordering) -> IntArray:
    """The values of ORDER BY as numbers that ascend; NULLs are far away."""
    column = rows[f"c{order.column}"]
    numbers = column.cast(pa.int64()) if pa.types.is_integer(column.type) else column.view(pa.int64())
    values = numbers.fill_null(0).to_numpy().copy()
    if order.descending:
        values = -values
    values[as_mask(column.is_null())] = -_NULL_ORDER_VALUE if order.nulls_first else _NULL_ORDER_VALUE
    return np.asarray(values)


def _slices(sizes: IntArray) -> Iterator[tuple[int, int]]:
    """Places from .. to .., of not too many rows together."""
    ends, at = np.cumsum(sizes), 0
    while at < len(sizes):
        base = ends[at - 1] if at else 0
        stop = max(at + 1, int(np.searchsorted(ends, base + MOST_CELLS, "right")))
        yield at, stop
        at = stop


def _alive(
    low: IntArray, high: IntArray, at: IntArray, lives: tuple[IntArray, IntArray]
) -> tuple[IntArray, IntArray]:
    """The rows of each place that are alive then, and the number of the place of each."""
    sizes = high - low
    place = np.repeat(np.arange(len(sizes)), sizes)
    rows = np.arange(len(place)) - (np.cumsum(sizes) - sizes)[place] + low[place]
    alive = (lives[0][rows] <= at[place]) & (at[place] < lives[1][rows])
    return np.asarray(rows[alive]), np.asarray(place[alive])


def _changes(
    now: IntArray, place: IntArray, was: IntArray, opens: IntArray, of: IntArray, at: IntArray
) -> tuple[NumberedEntries, NumberedEntries]:
    """Which labels begin and end: those of a place against those of the place before it."""
    is_last = np.append(of[1:] != of[:-1], True)
    stays = ~is_last[place]
    label = np.concatenate([now, now[stays], was])
    where = np.concatenate([place, place[stays] + 1, opens])
    weight = np.repeat([1, -1], [len(now), len(label) - len(now)])
    order = np.lexsort((where, label))
    label, where, weight = label[order], where[order], weight[order]
    new = np.ones(len(label), bool)
    new[1:] = (label[1:] != label[:-1]) | (where[1:] != where[:-1])
    first = np.flatnonzero(new)
    more = np.add.reduceat(weight, first) if len(first) else weight
    label, time = label[first], at[where[first]]
    nothing = np.zeros(len(label), np.int64)
    begun, ended = np.maximum(more, 0), np.maximum(-more, 0)
    return (
        NumberedEntries(*(np.repeat(column, begun) for column in (label, nothing, time))),
        NumberedEntries(*(np.repeat(column, ended) for column in (label, nothing, time))),
    )
