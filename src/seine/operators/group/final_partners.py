"""Emits the final rows of semi and anti joins: each left row once, when nothing changes what is told of it.

Inputs are left rows with their lives, and the left parts of pairs. Rows with equal values have equal lives,
since the times of their tuples are among the values. Law, for `emit = 'final'`:

- anti: a row that is in no pair in its whole life is emitted with its life, when no pair can begin in it:
  after the last instant of its life, or after its closing time if the node has one;
- semi: a row that is in a pair is emitted when the first one begins, to live from then on.

    left rows ──> at their start, and when they close ──┐
    pairs     ──> at their start ───────────────────────┴─(progress)─> final rows, + only

The node of the final rows of semi and anti joins (`emit = 'final'`).

    SELECT * FROM ad ANTI JOIN click ON click.adid = ad.adid          WITH (emit = 'final')
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, IntArray
from seine.algebra.plan import SetKind
from seine.operators.group.set_operations import SetOperatorNode
from seine.operators.state.event_queue import TIME, EventQueue
from seine.operators.state.keyed_table import HASH, KeyedMatches, KeyedTable
from seine.operators.state.sorted_run import END, START
from seine.operators.state.store import Store
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.clock import Clock
from seine.rows.column_arrays import ColumnArray, as_arrow, as_column, take_values
from seine.rows.delta import FOREVER, Delta, concat_batches, data_names
from seine.rows.grouping import group_rows, normalise

_KIND, _LIVE, _COUNT, _FIRST = "_p", "_live", "_m", "_first"
_BEGINS, _MEETS, _CLOSES = 0, 1, 2  # a left row begins; one is in a pair that begins; no more pairs begin


class FinalPartnersOperator:
    """One node of final rows with, or without, a partner, in one bucket."""

    def __init__(self, node: FinalPartnersNode) -> None:
        self._streams = node.streams
        self._tells_first = node.rule == SetKind.SEMI.value
        self._data = data_names(len(node.types))
        self._closes = None if node.closes is None else self._data[node.closes]
        self._keys = [f"k{i}" for i in range(len(node.types))]
        numbers = [pa.field(name, pa.int64()) for name in (HASH, _LIVE, _COUNT, _FIRST, START, END)]
        typed = [pa.field(name, t.arrow()) for name, t in zip(self._keys, node.types, strict=True)]
        self._schema = pa.schema([*numbers, *typed])

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        lefts = [delta.plus for delta in inputs[0] if delta.plus.num_rows]
        pairs = [delta.plus for delta in inputs[1] if delta.plus.num_rows]
        arrived = [self._events(rows, kind) for rows in lefts for kind in (_BEGINS, _CLOSES)]
        arrived += [self._events(rows, _MEETS) for rows in pairs]
        bound = FOREVER if clock.end else clock.progress(self._streams)
        due = EventQueue(store, "events").due(arrived, bound)
        if due:
            yield from self._advance(concat_batches(due), store)

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return sum(run["rows"] for run in store.head.get("groups", ()))

    def _events(self, rows: pa.RecordBatch, kind: int) -> pa.RecordBatch:
        """When rows begin, or after which instant no pair of them begins."""
        times = rows[START].to_numpy() if kind != _CLOSES else self._closing(rows)
        count = rows.num_rows
        columns = [
            pa.array(times),
            rows[HASH],
            pa.array(np.full(count, kind, np.int8)),
            rows[START],
            rows[END],
        ]
        columns += [normalise(rows[name]) for name in self._data]
        return pa.RecordBatch.from_arrays(columns, [TIME, HASH, _KIND, START, END, *self._keys])

    def _closing(self, rows: pa.RecordBatch) -> IntArray:
        """The last instant at which a pair of each row may begin."""
        ends: IntArray = rows[END].to_numpy() - 1
        if self._closes is not None:
            ends = np.minimum(ends, rows[self._closes].cast(pa.int64()).to_numpy())
        return ends

    def _advance(self, due: pa.RecordBatch, store: Store) -> Iterator[Delta]:
        table = KeyedTable(store, "groups", self._schema, self._keys, live=_LIVE)
        hashes, keys = due[HASH].to_numpy(), [as_column(due[name]) for name in self._keys]
        groups = group_rows(hashes, keys)
        number = np.empty(due.num_rows, np.int64)
        number[groups.order] = groups.labels()
        hashes, keys = hashes.take(groups.firsts), [take_values(key, groups.firsts) for key in keys]
        stored = table.find(hashes, keys)
        rows = _Rows.of(due, number, stored, len(hashes))
        begins, ends = rows.lives
        is_told = rows.is_met & ~rows.was_met if self._tells_first else rows.closes & ~rows.is_met
        self._write(table, hashes, keys, rows, stored)
        many = np.where(is_told, rows.count, 0)
        emitted = np.repeat(np.arange(len(hashes)), many)
        starts = rows.first if self._tells_first else begins
        if len(emitted):
            columns = [starts.take(emitted), ends.take(emitted), *(take_values(key, emitted) for key in keys)]
            yield Delta(
                pa.RecordBatch.from_arrays(
                    [as_arrow(column) for column in columns], [START, END, *self._data]
                )
            )

    def _write(
        self, table: KeyedTable, hashes: IntArray, keys: list[ColumnArray], rows: _Rows, stored: KeyedMatches
    ) -> None:
        live = (~rows.closes).astype(np.int64)
        worth = ((live > 0) | (stored.at >= 0)).nonzero()[0]
        columns = [hashes, live, rows.count, rows.first, *rows.lives, *keys]
        table.write(
            pa.RecordBatch.from_arrays(
                [as_arrow(take_values(column, worth)) for column in columns], schema=self._schema
            )
        )


@dataclass(frozen=True)
class _Rows:
    """What is known of rows after a step: how often they are there, their first pairs, and their lives."""

    count: IntArray
    first: IntArray
    lives: tuple[IntArray, IntArray]
    closes: AnyArray
    was_met: AnyArray

    @property
    def is_met(self) -> AnyArray:
        met: AnyArray = self.first < FOREVER
        return met

    @staticmethod
    def of(due: pa.RecordBatch, number: IntArray, stored: KeyedMatches, size: int) -> _Rows:
        kinds, times = due[_KIND].to_numpy(), due[TIME].to_numpy()
        known = stored.at >= 0
        count = stored.numbers(_COUNT) + np.bincount(number[kinds == _BEGINS], minlength=size)
        first = np.where(known, stored.numbers(_FIRST), FOREVER)
        was = first < FOREVER
        np.minimum.at(first, number[kinds == _MEETS], times[kinds == _MEETS])
        closes = np.bincount(number[kinds == _CLOSES], minlength=size) > 0
        lives = stored.numbers(START), stored.numbers(END)
        begun = kinds == _BEGINS
        for life, name in zip(lives, (START, END), strict=True):
            life[number[begun]] = due[name].to_numpy()[begun]
        return _Rows(count, first, lives, closes, was)


@dataclass(frozen=True)
class FinalPartnersNode(SetOperatorNode, StatefulNode):
    """Rows of the first input, each once: at the first pair that it is in, or as it was in none."""

    kind = "final_partners"
    rule: str = SetKind.ANTI.value
    closes: int | None = None  # a column with the time after which a row is in no new pair

    def make_operator(self, flow: HostFlow) -> FinalPartnersOperator:
        return FinalPartnersOperator(self)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)

    @property
    def operation(self) -> tuple[str, int | None]:
        return (f"final {self.rule}", self.closes)
