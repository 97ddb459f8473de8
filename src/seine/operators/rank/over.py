"""Window functions with frames, as rows come and go: aggregates, values of other rows, distributions.

Law: at every instant the rows that have begun and not ended are the live rows, each with the values of its
frames.

    rows ──> begins, ends ──(progress)──> live rows by partition, in order ──> values by instant ──> changes

Where values are fixed when the instant of a row is complete (frames that look back in the order of time, over
rows that never end), each row is emitted once, and only the last rows of a partition are kept, as far as
frames reach, and what aggregates of all rows so far have folded (`RunningFrames`). Where frames reach by
time alone, a row expires when the progress has passed its time and the reach, also if no other comes to its
partition. Otherwise all rows alive are kept, and of a partition to which something happens those values are
computed anew, at each instant, that may have changed (`frames.py`).

Running aggregates: frames from the first row of a partition up to each row, folded as rows come.

    SUM(amount) OVER (PARTITION BY account ORDER BY ts)

    head["running"]    what the folds keep of each partition, and how many rows it has had

Law: the value of a row is that of its frame over all rows of the partition so far. Rows come in order and
never end, so none of them is kept.

The node of window functions with frames: each row with the values of the rows around it.

    SELECT *, AVG(price) OVER (PARTITION BY seller ORDER BY ts ROWS 10 PRECEDING) FROM sale

    sale ── fan (tag, columns) ── over by (tag, seller) ── deliver
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.rank_plan import RANGE, FrameReach, Ordering, OverFunction
from seine.operators.aggregates.calls import compile_call
from seine.operators.aggregates.fold import ROWS
from seine.operators.aggregates.folding import Events, SharedFolds
from seine.operators.group.group_release import Releases
from seine.operators.group.set_operations import SetOperatorNode
from seine.operators.rank.frames import (
    AliveCells,
    AlivePlaces,
    OrderedRows,
    PartitionInstants,
    ReachedRows,
    frame_values,
    numbered_places,
)
from seine.operators.rank.live_rows import BEGUN, DueRows
from seine.operators.rank.partitions import PartitionOperator
from seine.operators.rank.shown_changes import NumberedEntries
from seine.operators.state.change_layout import ChangeLayout
from seine.operators.state.keyed_table import HASH, KeyedTable
from seine.operators.state.store import Store, open_rows, take_identities
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.column_arrays import as_arrow
from seine.rows.delta import FOREVER, Delta
from seine.rows.grouping import all_equal, as_mask, group_rows
from seine.rows.hashing import hash_columns


@dataclass(frozen=True)
class OverNode(SetOperatorNode, StatefulNode):
    """Columns of a row are its tag, its data, and the results of the functions.

    The port's key is the tag and the partition. `timed`: whether ties go by the start of rows; `reach`: how
    far frames look back, if values are fixed as soon as a row is there.
    """

    kind = "over"
    functions: tuple[OverFunction, ...]
    order: tuple[Ordering, ...]
    timed: bool
    reach: FrameReach | None = None
    releases: Releases | None = None

    @property
    def group_columns(self) -> tuple[int, ...]:
        return self.ports[0].key_columns

    def make_operator(self, flow: HostFlow) -> OverOperator:
        return OverOperator(self, flow.buckets)

    @property
    def row_inputs(self) -> int:
        return len(self.ports) - (len(self.releases.purges) if self.releases else 0)

    @property
    def operation(self) -> Hashable:
        return (self.kind, self.functions, self.order, self.timed, self.reach)


MOST_CELLS = 1 << 20  # rows at instants that are computed at once, unless one instant has more
_NULL_ORDER_VALUE = 2**63 - 1  # the value of a NULL in ORDER BY, or its opposite


class OverOperator(PartitionOperator):
    """The window functions of one node in one bucket."""

    def __init__(self, node: OverNode, buckets: int = 1) -> None:
        types = {f"c{i}": type_.arrow() for i, type_ in enumerate(node.ports[0].types)}
        width = len(types)
        values = {f"c{width + i}": f.call.type.arrow() for i, f in enumerate(node.functions)}
        super().__init__(node, buckets, values, False)
        self._functions, self._reach = node.functions, node.reach
        self._values = [*values]
        folds = node.reach is not None and node.reach.running  # older networks keep all rows instead
        running = [function for function in node.functions if folds and function.is_running]
        self._running = RunningFrames(running, types, self._partition) if running else None
        self._kept += [self._running] if self._running else []
        self._reached = ReachedRows.of([function.frame for function in node.functions])
        ranges = [function.frame for function in node.functions if function.frame.unit == RANGE]
        has_offsets = any(bound for frame in ranges for bound in (frame.start, frame.end))
        self._by_value = node.order[0] if has_offsets else None

    def _answer(self, due: DueRows, store: Store) -> Iterator[Delta]:
        held = self._live.held(due.hashes, store)
        yield from self._change(held, due, store) if self._reach is None else self._append(held, due, store)

    def _append(self, held: pa.RecordBatch, due: DueRows, store: Store) -> Iterator[Delta]:
        """Emit rows that begin with values that never change."""
        if not due.begins.num_rows:
            self._settle(held, due, self._is_recent(held[BEGUN].to_numpy(), due.bound), store)
            return
        rows, order = self._ordered([held, due.begins])
        sequence = np.argsort(order.entry, kind="stable")
        partition = order.partition[order.entry[sequence]]
        fresh = np.flatnonzero(sequence >= held.num_rows)
        ordered = rows.take(pa.array(sequence))
        everyone = np.arange(rows.num_rows)
        cells = self._cells(ordered, everyone, partition, order.peers[order.entry[sequence]])
        begun = ordered.take(pa.array(fresh))
        columns = [begun[name] for name in self._data]
        running = iter(
            self._running.advance(begun, partition[fresh], cells.peers[fresh], store) if self._running else ()
        )
        columns += [
            next(running) if self._running and function.is_running else frame_values(function, cells, fresh)
            for function in self._functions
        ]
        starts = begun[BEGUN].to_numpy()
        yield Delta(open_rows(starts, take_identities(store, len(fresh)), columns))
        kept = np.empty(rows.num_rows, bool)
        kept[sequence] = self._in_reach(partition, ordered[BEGUN].to_numpy(), due.bound)
        self._settle(held, due, kept, store)

    def _settle(self, held: pa.RecordBatch, due: DueRows, kept: BoolArray, store: Store) -> None:
        assert self._reach is not None
        self._live.settle(held, due, kept, store, self._reach.longest)

    def _is_recent(self, times: IntArray, bound: int) -> BoolArray:
        """Which rows frames by time may have, of rows that begin at the bound or later."""
        assert self._reach is not None and self._reach.time is not None
        return np.asarray(times >= bound - self._reach.time)

    def _in_reach(self, partition: IntArray, times: IntArray, bound: int) -> BoolArray:
        """Which rows, in order, frames of rows to come may have."""
        assert self._reach is not None
        rows = self._reach.rows
        if rows is None or self._reach.time is None:
            return np.ones(len(times), bool)
        places = np.arange(len(partition))
        behind = np.searchsorted(partition, partition, "right") - places
        ahead = places - np.searchsorted(partition, partition)
        return (behind <= rows) | (ahead < self._reach.first) | self._is_recent(times, bound)

    def _change(self, held: pa.RecordBatch, due: DueRows, store: Store) -> Iterator[Delta]:
        """Emit what changes, instant by instant, in the partitions to which something happens."""
        rows, order = self._ordered([held, due.begins])
        sequence = np.argsort(order.entry, kind="stable")
        ends = self._live.end_times(held, due)
        partition, over = order.partition[order.entry], np.flatnonzero(ends < FOREVER)
        happens = np.concatenate([partition[held.num_rows :], partition[over]])
        times = np.concatenate([due.begins[BEGUN].to_numpy(), ends[over]])
        of, at, number = numbered_places(happens, times)
        begins, stops = np.full(rows.num_rows, -1), np.full(rows.num_rows, len(at))
        begins[held.num_rows :], stops[over] = np.split(number, [due.begins.num_rows])
        lives = AlivePlaces(begins[sequence], stops[sequence])
        partition, ordered = partition[sequence], rows.take(pa.array(sequence))
        peers = order.peers[order.entry[sequence]]
        places = PartitionInstants(
            of, at, np.searchsorted(partition, of), np.searchsorted(partition, of, "right")
        )
        for first, last in _slices(places.high - places.low):
            yield from self._differ(ordered, peers, AliveCells(places, lives, first, last), store)
        self._live.settle(held, due, ends == FOREVER, store)

    def _differ(
        self, rows: pa.RecordBatch, peers: IntArray, alive: AliveCells, store: Store
    ) -> Iterator[Delta]:
        """What changes from place to place, of rows in order that are alive there."""
        now, was = alive.near_changes(self._reached)
        in_doubt = np.zeros(len(alive.row), bool)
        in_doubt[now] = in_doubt[was] = True
        slot = np.cumsum(in_doubt) - 1
        cells = self._cells(rows, alive.row, alive.place, peers[alive.row])
        values = [frame_values(function, cells, np.flatnonzero(in_doubt)) for function in self._functions]
        new, old = alive.pairs(now, was)
        left, right = pa.array(slot[now[new]]), pa.array(slot[was[old]])
        same = all_equal([v.take(left) for v in values], [v.take(right) for v in values], len(new))
        begun, ended = np.delete(now, new[same]), np.delete(was, old[same])
        changed = np.concatenate([begun, ended])
        made = rows.select(self._compared).take(pa.array(alive.row[changed]))
        for name, value in zip(self._values, values, strict=True):
            made = made.append_column(name, value.take(pa.array(slot[changed])))
        place = np.concatenate([alive.place[begun], alive.place[ended] + 1])
        weight = np.repeat([1, -1], [len(begun), len(ended)])
        hashes = np.unique(rows[HASH].to_numpy()[alive.partition_rows])
        yield from self._told_changes(made, alive.times(place), weight, self._shown.of(hashes, store), store)

    def _told_changes(
        self, made: pa.RecordBatch, times: IntArray, weight: IntArray, before: pa.RecordBatch, store: Store
    ) -> Iterator[Delta]:
        """Rows that begin and end at instants, told; `before` has those that are shown."""
        both = pa.concat_batches([made, before.select(made.schema.names)])
        groups = group_rows(hash_columns(both.columns, both.num_rows), both.columns)
        label = np.empty(both.num_rows, np.int64)
        label[groups.order] = groups.labels()
        begun, ended = _balanced(label[: made.num_rows], times, weight)
        shown = label[made.num_rows :]
        yield from self._shown.change(before, shown, begun, ended, both, groups.firsts, store)

    def _cells(self, rows: pa.RecordBatch, row: IntArray, segment: IntArray, peers: IntArray) -> OrderedRows:
        first, last = np.searchsorted(segment, segment), np.searchsorted(segment, segment, "right") - 1
        new = np.ones(len(segment), np.int64)
        new[1:] = (segment[1:] != segment[:-1]) | (peers[1:] != peers[:-1])
        values = None if self._by_value is None else _order_values(rows, self._by_value)[row]
        return OrderedRows([rows[name] for name in self._data], row, first, last, np.cumsum(new), values)


def _order_values(rows: pa.RecordBatch, order: Ordering) -> IntArray:
    """The values of ORDER BY as numbers that ascend; NULLs are far away."""
    column = rows[f"c{order.column}"]
    numbers = column.cast(pa.int64()) if pa.types.is_integer(column.type) else column.view(pa.int64())
    values = np.maximum(numbers.fill_null(0).to_numpy(), -_NULL_ORDER_VALUE)
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


def _balanced(label: IntArray, time: IntArray, weight: IntArray) -> tuple[NumberedEntries, NumberedEntries]:
    """Which labels begin and end at an instant, those that do both left out."""
    order = np.lexsort((time, label))
    label, time, weight = label[order], time[order], weight[order]
    new = np.ones(len(label), bool)
    new[1:] = (label[1:] != label[:-1]) | (time[1:] != time[:-1])
    first = np.flatnonzero(new)
    more = np.add.reduceat(weight, first) if len(first) else weight
    label, time = label[first], time[first]
    nothing = np.zeros(len(label), np.int64)
    begun, ended = np.maximum(more, 0), np.maximum(-more, 0)
    return (
        NumberedEntries(*(np.repeat(column, begun) for column in (label, nothing, time))),
        NumberedEntries(*(np.repeat(column, ended) for column in (label, nothing, time))),
    )


class RunningFrames:
    """The running aggregates of one node in one bucket, over rows with columns of these types."""

    def __init__(
        self, functions: Sequence[OverFunction], types: Mapping[str, pa.DataType], partition: Sequence[str]
    ) -> None:
        self._functions, self._data = functions, [*types]
        self._folding = SharedFolds([compile_call(function.call).lasting() for function in functions])
        self._key = list(dict.fromkeys(partition))
        numbers = [pa.field(name, pa.int64()) for name in (HASH, ROWS)]
        keys = [pa.field(name, types[name]) for name in self._key]
        self._schema = pa.schema([*numbers, *keys, *self._folding.fields])

    def advance(
        self, rows: pa.RecordBatch, partition: IntArray, peers: IntArray, store: Store
    ) -> list[pa.Array]:
        """The values of each function for rows that are new, in order; `peers` ascend."""
        new = np.append(True, partition[1:] != partition[:-1])[: len(partition)]
        first = np.flatnonzero(new)
        last = np.append(first[1:], len(new))[: len(first)] - 1
        layout = ChangeLayout(first, last, np.cumsum(new) - 1, np.zeros(len(new), np.int64))
        places, weights = np.arange(len(new)), np.ones(len(new), np.int64)
        reached = layout.reached(places)
        events = Events(places, reached, weights, self._arguments(rows), places)
        heads, table = rows.take(pa.array(first)), self._table(store)
        stored = table.find(heads[HASH].to_numpy(), [heads[name] for name in self._key])
        count = layout.running(reached, weights, stored.numbers(ROWS))
        values, kept, _ = self._folding.advance(events, layout, stored, np.arange(len(first)), store)
        columns = [heads[HASH], count[last], *(heads[name] for name in self._key), *kept]
        table.write(pa.RecordBatch.from_arrays([as_arrow(column) for column in columns], schema=self._schema))
        made = self._folding.finish(count, values, places)
        with_peers = pa.array(np.searchsorted(peers, peers, "right") - 1)
        return [
            (value.take(with_peers) if function.frame.unit == RANGE else value).cast(
                function.call.type.arrow()
            )
            for function, value in zip(self._functions, made, strict=True)
        ]

    def everything(self, store: Store) -> pa.RecordBatch:
        """What is kept of all partitions."""
        return self._table(store).everything()

    def forget(self, rows: pa.RecordBatch, store: Store) -> None:
        """Forget partitions."""
        if rows.num_rows:
            none = pa.array(np.zeros(rows.num_rows, np.int64))
            self._table(store).write(rows.set_column(self._schema.get_field_index(ROWS), ROWS, none))

    def size(self, store: Store) -> int:
        """About how many partitions there are."""
        return sum(run["rows"] for run in store.head.get("running", ()))

    def _arguments(self, rows: pa.RecordBatch) -> pa.RecordBatch | None:
        """The columns that folds read; None if they read none."""
        columns = [rows[name] for name in self._data]
        named = self._folding.columns(columns, rows.num_rows, lambda text: None)
        if not named:
            return None
        return pa.RecordBatch.from_arrays([array for _, array in named], [name for name, _ in named])

    def _table(self, store: Store) -> KeyedTable:
        return KeyedTable(store, "running", self._schema, self._key, live=ROWS)
