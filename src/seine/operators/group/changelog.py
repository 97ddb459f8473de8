"""Materialises the ends of rows: expiry by window becomes a retraction, emitted when it is reached.

Law: the output has, for each row [s, e) of the input, + at s and, if e is not FOREVER, - at e, in event time;
a row that ended early at d has - at d instead. It stands on top of UNION ALL and other rows whose query
delivers a changelog.

    SELECT a FROM s UNION ALL SELECT b FROM t

    rows ──> events (+ at _s, - at _e or _d) ──(progress)──> counts by (start, columns) ──> + and - rows

The node of a changelog of rows: every end of a row is a record, not only its beginning.

    row [5, 9)      + at 5, - at 9
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.operators.group.set_operations import SetOperatorNode
from seine.operators.state.change_layout import ChangeLayout, lay_out
from seine.operators.state.event_queue import EventColumns, EventQueue, EventTimes, times_of, weights_of
from seine.operators.state.keyed_table import HASH, KeyedTable
from seine.operators.state.sorted_run import END
from seine.operators.state.store import BUCKETS, Store, open_rows, take_identities
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta, data_names
from seine.rows.grouping import group_rows, normalise
from seine.rows.hashing import hash_columns

LASTING = "_l"  # whether a row never ends


class ChangelogOperator:
    """Turns the natural end of each row into an early end.

    Rows of one start and equal columns are emitted apart by nothing, so they are counted: n of them
    have the identities base, base + 1, ..., and of those the last one ends first. A row that never ends is
    emitted and not kept.
    """

    def __init__(self, node: ChangelogNode) -> None:
        self._streams = node.streams
        self._types = [type_.arrow() for type_ in node.types]
        self._names = [f"k{i}" for i in range(len(self._types))]
        numbers = [pa.field(name, pa.int64()) for name in (HASH, "_s", "_n", "_i0")]
        typed = [pa.field(name, type_) for name, type_ in zip(self._names, self._types, strict=True)]
        self._schema = pa.schema([*numbers, *typed])

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        arrived = EventTimes([], [])
        for pieces in inputs:
            for delta in pieces:
                arrived.take(delta, self._columns)
        due = EventQueue(store, "events").advance(arrived.events, clock.progress(self._streams))
        if due is None:
            return
        lasting = due[LASTING].to_numpy(zero_copy_only=False)
        if lasting.any():
            yield self._stay(due.filter(pa.array(lasting)), store)
        if not lasting.all():
            yield self._change(due.filter(pa.array(~lasting)), store)

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return sum(run["rows"] for run in store.head.get("rows", ()))

    def _columns(self, rows: pa.RecordBatch) -> EventColumns:
        row = [normalise(rows[name]) for name in data_names(len(self._types))]
        hashes = pa.array(hash_columns([rows["_s"], *row], rows.num_rows))
        lasting = pa.array(_lasting(rows))
        return [(HASH, hashes), (LASTING, lasting), ("_s", rows["_s"]), *zip(self._names, row, strict=True)]

    def _stay(self, due: pa.RecordBatch, store: Store) -> Delta:
        """Rows that begin and never end."""
        identities = take_identities(store, due.num_rows)
        return Delta(open_rows(due["_s"].to_numpy(), identities, [due[name] for name in self._names]))

    def _change(self, due: pa.RecordBatch, store: Store) -> Delta:
        table = KeyedTable(store, "rows", self._schema, ["_s", *self._names], live="_n")
        hashes = due[HASH].to_numpy()
        groups = group_rows(hashes, [due["_s"], *(due[name] for name in self._names)])
        rows = due.take(pa.array(groups.firsts))
        keys = [rows["_s"], *(rows[name] for name in self._names)]
        stored = table.find(hashes[groups.firsts], keys)
        ordered = due.take(pa.array(groups.order))
        layout, places = lay_out(groups, times_of(ordered))
        before = stored.numbers("_n")
        alive = layout.running(layout.reached(places), weights_of(ordered), before)
        grown = alive - layout.previous(alive, before)
        base = self._bases(layout, grown, stored.numbers("_i0"), store)
        counts, bases = pa.array(alive[layout.last]), pa.array(base[layout.last])
        arrays = [rows[HASH], keys[0], counts, bases, *keys[1:]]
        table.write(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        return Delta(self._begun(layout, keys, grown, base), self._ended(layout, keys, grown, alive, base))

    def _bases(self, layout: ChangeLayout, grown: AnyArray, stored: AnyArray, store: Store) -> AnyArray:
        """The first identity of the rows that are alive at each place; new ones in order of time.

        Groups are in order of their hashes, so that rows of one instant are too.
        """
        begins = np.flatnonzero(grown > 0)
        begins = begins[np.argsort(layout.time[begins], kind="stable")]
        fresh = take_identities(store, int(grown[begins].sum()))
        base, held = np.zeros(layout.size, np.int64), np.zeros(layout.size, np.int64)
        base[layout.first], held[layout.first] = stored, layout.first
        base[begins] = fresh[np.cumsum(grown[begins]) - grown[begins]]
        held[begins] = begins
        return base[np.maximum.accumulate(held)]

    def _begun(
        self, layout: ChangeLayout, keys: list[pa.Array], grown: AnyArray, base: AnyArray
    ) -> pa.RecordBatch:
        places, step = _repeat(np.maximum(grown, 0))
        start, *row = [key.take(pa.array(layout.group[places])) for key in keys]
        return open_rows(start.to_numpy(), base[places] + step * BUCKETS, row)

    def _ended(
        self,
        layout: ChangeLayout,
        keys: list[pa.Array],
        grown: AnyArray,
        alive: AnyArray,
        base: AnyArray,
    ) -> pa.RecordBatch:
        places, step = _repeat(np.maximum(-grown, 0))
        start, *row = [key.take(pa.array(layout.group[places])) for key in keys]
        identity = base[places] + (alive[places] + step) * BUCKETS
        return open_rows(start.to_numpy(), identity, row, layout.time[places])


def _lasting(rows: pa.RecordBatch) -> AnyArray:
    """Which rows have no end and cannot end early: no part of them has an identity.

    A merge gives every row one, and -1 for parts that its input does not have.
    """
    stays: AnyArray = rows[END].to_numpy() == FOREVER
    names = [name for name in rows.schema.names if name.startswith("_i")]
    if len(names) == 1:
        return np.zeros(rows.num_rows, bool)
    for name in names[1:]:
        stays = stays & (rows[name].to_numpy() == -1)
    return stays


def _repeat(times: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Each place as often as said, and the how-manieth time it is.

    >>> [a.tolist() for a in _repeat(np.array([0, 2, 1]))]
    [[1, 1, 2], [0, 1, 0]]
    """
    places = np.repeat(np.arange(len(times)), times)
    return places, np.arange(len(places)) - (np.cumsum(times) - times)[places]


@dataclass(frozen=True)
class ChangelogNode(SetOperatorNode, StatefulNode):
    """Turns the natural end of each row into an early end, emitted when it is reached."""

    kind = "changelog"

    def make_operator(self, flow: HostFlow) -> ChangelogOperator:
        return ChangelogOperator(self)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)
