"""The first result of a key in a period, and how many followed: WITH (once = 'key', per = n).

A result belongs to the period of its start, [i n, (i + 1) n). Law: of the results of one key and period,
whenever they came, the first, by start and then by columns from left to right, NULLs first, is emitted as
soon as no earlier one can come, with 0 behind its columns; and when the period is over, if others followed,
once more with their number.

    rows ──> the first so far and a count, by tag, key and period
                 ├──(progress passes its start)──> + row, 0
                 └──(progress passes the period)──> + row, followed; forgotten

The node of first results.

    CREATE QUERY q WITH (once = 'card', per = INTERVAL '1' HOUR) AS SELECT card, amount FROM payment WHERE ...

    ... ── fan [tag -> tag, 1 hour, card, amount] ── once, by tag and card ── deliver card, amount, followed

Queries that name the same columns of the same rows share it: of which period is in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.expressions import Column
from seine.operators.group.set_operations import SetOperatorNode
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import END, KEY, START, SortedRun, take_rows
from seine.operators.state.store import Store
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, Delta, concat_batches
from seine.rows.grouping import as_mask, dense_ranks, group_rows
from seine.rows.hashing import hash_columns

_TAG, _PER = "c0", "c1"
_DUE, _COUNT, _EMITTED = (
    "_due",
    "_n",
    "_told",
)  # the end of a period, its results so far, whether one was emitted
_NEXT = "next"  # in the head: the least time that anything waits for


class OnceOperator:
    """One node of first results, in one bucket."""

    def __init__(self, node: OnceNode) -> None:
        self._streams = node.streams
        self._data = [f"c{i}" for i in range(len(node.ports[0].types))]
        columns = [expression for expression in node.ports[0].key if isinstance(expression, Column)]
        self._key = [f"c{column.index}" for column in columns]
        self._row = [START, END, *self._data]

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        firsts = Runs(store, "firsts")
        begun = [piece.plus for piece in inputs[0] if piece.plus.num_rows]
        if begun:
            self._take_in(self._keyed(begun), firsts, store)
        progress = FOREVER if clock.end else clock.progress(self._streams)
        if progress > store.head.get(_NEXT, FOREVER):
            yield from self._tell(progress, firsts, store)
        firsts.settle(NEVER)

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return Runs(store, "firsts").rows

    def _keyed(self, batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        """Rows as entries of one result each."""
        rows = concat_batches([one.select(self._row) for one in batches])
        start, per = rows[START].to_numpy(), rows[_PER].to_numpy()
        number = start // per + 1
        due = pa.array(np.where(number > FOREVER // per, FOREVER, number * per))
        key = pa.array(hash_columns([*(rows[name] for name in self._key), due], rows.num_rows))
        ones, zeros = np.ones(rows.num_rows, np.int64), np.zeros(rows.num_rows, np.int64)
        columns = [key, due, pa.array(ones), pa.array(zeros), *rows.columns]
        return pa.RecordBatch.from_arrays(columns, [KEY, _DUE, _COUNT, _EMITTED, *self._row])

    def _take_in(self, rows: pa.RecordBatch, firsts: Runs, store: Store) -> None:
        """Add results to the entries of their keys and periods."""
        keys = np.unique(rows[KEY].to_numpy())
        held = firsts.take(lambda run: np.flatnonzero(np.isin(run.keys, keys)))
        merged = self._merged(concat_batches([*(one.select(rows.schema.names) for one in held), rows]))
        firsts.add(SortedRun.of(merged, KEY))
        store.head[_NEXT] = min(store.head.get(_NEXT, FOREVER), _least(merged))

    def _merged(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """One entry for each key and period: its first row, and all results counted."""
        ordered = take_rows(rows, self._order(rows))
        columns = [*(ordered[name] for name in self._key), ordered[_DUE]]
        groups = group_rows(ordered[KEY].to_numpy(), columns)
        counts = np.add.reduceat(ordered[_COUNT].to_numpy()[groups.order], groups.starts)
        flags = np.maximum.reduceat(ordered[_EMITTED].to_numpy()[groups.order], groups.starts)
        return _with(take_rows(ordered, groups.firsts), {_COUNT: counts, _EMITTED: flags})

    def _order(self, rows: pa.RecordBatch) -> IntArray:
        """The order of rows: by start, then by columns from left to right, NULLs first, then by end."""
        codes = [rows[START].to_numpy(), *(_codes(rows[name]) for name in self._data), rows[END].to_numpy()]
        return np.lexsort([*reversed(codes)])

    def _tell(self, progress: int, firsts: Runs, store: Store) -> Iterator[Delta]:
        """Emit what has become certain, and forget periods that are over."""
        waiting = [FOREVER]

        def is_due(run: SortedRun) -> IntArray:
            times = _times(run.batch)
            waiting.append(int(times[times >= progress].min(initial=FOREVER)))
            return np.flatnonzero(times < progress)

        pieces = [piece for piece in firsts.take(is_due) if piece.num_rows]
        if pieces:
            names = [KEY, _DUE, _COUNT, _EMITTED, *self._row]
            whole = concat_batches([piece.select(names) for piece in pieces])
            fresh = whole[_EMITTED].to_numpy() == 0
            over = whole[_DUE].to_numpy() <= progress
            more = whole[_COUNT].to_numpy() - 1
            yield from self._emitted(whole, fresh, np.zeros(len(more), np.int64))
            yield from self._emitted(whole, over & (more > 0), more)
            kept = take_rows(whole, np.flatnonzero(~over))
            if kept.num_rows:
                kept = _with(kept, {_EMITTED: np.ones(kept.num_rows, np.int64)})
                firsts.add(SortedRun.of(kept, KEY))
                waiting.append(_least(kept))
        store.head[_NEXT] = min(waiting)

    def _emitted(self, rows: pa.RecordBatch, wanted: BoolArray, followed: AnyArray) -> Iterator[Delta]:
        places = np.flatnonzero(wanted)
        if len(places):
            chosen = take_rows(rows, places).select(self._row)
            yield Delta(chosen.append_column(f"c{len(self._data)}", pa.array(followed[places])))


def _codes(values: pa.Array) -> IntArray:
    """Numbers in the order of values, NULLs first."""
    ranks, _ = dense_ranks(values)
    codes: IntArray = np.where(as_mask(values.is_null()), -1, ranks)
    return codes


def _times(rows: pa.RecordBatch) -> IntArray:
    """For each entry the last instant that must be complete before something is emitted of it."""
    flags = rows[_EMITTED].to_numpy() != 0
    times: IntArray = np.where(flags, rows[_DUE].to_numpy() - 1, rows[START].to_numpy())
    return times


def _least(rows: pa.RecordBatch) -> int:
    return int(_times(rows).min(initial=FOREVER))


def _with(rows: pa.RecordBatch, values: dict[str, AnyArray]) -> pa.RecordBatch:
    for name, column in values.items():
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(column))
    return rows


@dataclass(frozen=True)
class OnceNode(SetOperatorNode, StatefulNode):
    """The first row of a key in each period, by tag, and how many followed."""

    kind = "once"

    def make_operator(self, flow: HostFlow) -> OnceOperator:
        return OnceOperator(self)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)
