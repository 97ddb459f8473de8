"""The node of the best trees of periods.

    SEARCH 'lisbon prize' TOP 3 PER INTERVAL '7' DAY

    search ── fan [tag -> tag, 3, 7 days] ── top of periods ── deliver

All such searches share it: how many trees, and of which period, is in the rows.

The best trees of each period: SEARCH ... TOP k PER n.

A tree belongs to the period of its start, [i n, (i + 1) n). Law: of the trees of a period, whenever they
came, the k best are emitted, once, when no more can begin in it; if they end early, that follows.

    trees ──> the best so far, by tag and period ──(progress passes the period)──> + rows
    early ends ──> noted with a tree that waits, or emitted as - rows of trees that were

Which trees are better: fewer tuples, then a later start, then the text of the row.

Rows of trees have the columns TAG, COUNT (how many are wanted), PER, and the three texts of a record. The
texts are compared one after the other, which is the order of the whole text: no array begins another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.operators.group.set_operations import SetOperatorNode
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import EARLY, END, KEY, START, SortedRun, take_rows
from seine.operators.state.store import Store
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, Delta, concat_batches, data_names, identity_names
from seine.rows.hashing import hash_columns


@dataclass(frozen=True)
class PeriodTopNode(SetOperatorNode, StatefulNode):
    """The best trees of each period, by tag, when it is over."""

    kind = "period_top"

    def make_operator(self, flow: HostFlow) -> PeriodTopOperator:
        return PeriodTopOperator(self)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)


DUE = "_due"  # the end of a tree's period


class PeriodTopOperator:
    """One node of the best trees of periods, in one bucket."""

    def __init__(self, node: PeriodTopNode) -> None:
        self._streams = node.streams
        self._identities = identity_names(node.identities)
        self._row = [START, END, *self._identities, *DATA]

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        best, emitted = Runs(store, "best"), Runs(store, "emitted")
        begun = [piece.plus for piece in inputs[0] if piece.plus.num_rows]
        ended = [piece.minus for piece in inputs[0] if piece.minus is not None and piece.minus.num_rows]
        if begun:
            self._take_in(self._keyed(begun), best)
        if ended:
            yield from self._end(self._keyed(ended), best, emitted)
        progress = FOREVER if clock.end else clock.progress(self._streams)
        yield from self._emit(best.take(lambda run: _due(run, progress)), emitted)
        best.settle(NEVER)
        emitted.settle(progress)

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return Runs(store, "best").rows

    def _keyed(self, batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        """Rows with the end of their period, an early end if they have one, and a key of tag and period."""
        rows = concat_batches(
            [one.drop_columns([KEY]) if KEY in one.schema.names else one for one in batches]
        )
        start, per = rows[START].to_numpy(), rows[PER].to_numpy()
        number = start // per + 1
        due = pa.array(
            np.where(number > FOREVER // per, FOREVER, number * per)
        )  # what is beyond all time ends last
        early = rows[EARLY] if EARLY in rows.schema.names else pa.array(np.full(len(start), FOREVER))
        key = pa.array(hash_columns([rows[TAG], due], rows.num_rows))
        columns = [key, early, due, *(rows[name] for name in self._row)]
        return pa.RecordBatch.from_arrays(columns, [KEY, EARLY, DUE, *self._row])

    def _take_in(self, rows: pa.RecordBatch, best: Runs) -> None:
        """Keep the best of the periods that have new trees."""
        keys = np.unique(rows[KEY].to_numpy())
        held = best.take(lambda run: np.flatnonzero(np.isin(run.keys, keys)))
        whole = concat_batches([*held, rows])
        order, ranks = best_first(whole, [TAG, DUE])
        ahead = order[ranks < whole[COUNT].to_numpy()[order]]
        best.add(SortedRun.of(take_rows(whole, ahead), KEY))

    def _end(self, ends: pa.RecordBatch, best: Runs, emitted: Runs) -> Iterator[Delta]:
        """Trees that end early: of one that waits it is noted, of one that was emitted it is emitted."""
        for waiting in best.take(lambda run: _same(run, ends, self._identities)):
            early = _early_of(waiting, ends, self._identities)
            place = waiting.schema.get_field_index(EARLY)
            best.add(SortedRun.of(waiting.set_column(place, EARLY, pa.array(early)), KEY))
        for gone in emitted.take(lambda run: _same(run, ends, self._identities)):
            place, early = gone.schema.get_field_index(EARLY), _early_of(gone, ends, self._identities)
            yield self._delta(gone[:0], gone.set_column(place, EARLY, pa.array(early)))

    def _emit(self, pieces: Sequence[pa.RecordBatch], emitted: Runs) -> Iterator[Delta]:
        """Emit trees whose period is over; those that may still end early are remembered."""
        rows = [piece for piece in pieces if piece.num_rows]
        if not rows:
            return
        whole = concat_batches(rows)
        early = whole[EARLY].to_numpy() < whole[END].to_numpy()
        yield self._delta(whole, take_rows(whole, np.flatnonzero(early)))
        if self._identities:
            emitted.add(SortedRun.of(take_rows(whole, np.flatnonzero(~early)), KEY))

    def _delta(self, plus: pa.RecordBatch, minus: pa.RecordBatch) -> Delta:
        names = [START, END, EARLY, *self._row[2:]]
        return Delta(plus.select(self._row), minus.select(names) if self._identities else None)


def _due(run: SortedRun, progress: int) -> IntArray:
    return np.flatnonzero(run.batch[DUE].to_numpy() <= progress)


def _same(run: SortedRun, ends: pa.RecordBatch, identities: Sequence[str]) -> IntArray:
    """The rows of a run that are among those that end."""
    ids = _codes(ends, identities)
    return np.flatnonzero(np.isin(_codes(run.batch, identities), ids))


def _early_of(rows: pa.RecordBatch, ends: pa.RecordBatch, identities: Sequence[str]) -> IntArray:
    """When rows end, each of which is among those that do."""
    ids = _codes(ends, identities)
    order = np.argsort(ids, kind="stable")
    places = order[np.searchsorted(ids[order], _codes(rows, identities))]
    early: IntArray = ends[EARLY].to_numpy()[places]
    return early


def _codes(rows: pa.RecordBatch, identities: Sequence[str]) -> IntArray:
    """One number for a row's tag, identity and tuples: tuples of two streams may have the same identity."""
    return hash_columns([rows[TAG], *(rows[name] for name in identities), rows[TUPLES]], rows.num_rows)


TAG, COUNT, PER, TUPLES, EDGES, MATCHES = DATA = tuple(data_names(6))
TEXTS = (TUPLES, EDGES, MATCHES)


def sizes_of(edges: pa.Array) -> pa.Array:
    """How many tuples trees have: one more than edges, and an edge is a pair in brackets.

    >>> sizes_of(pa.array(["[]", "[[0, 1], [1, 2]]"])).to_pylist()
    [1, 3]
    """
    return pc.count_substring(edges, "[")


def best_first(rows: pa.RecordBatch, groups: Sequence[str]) -> tuple[IntArray, IntArray]:
    """The order of rows by group, the better ones of a group first, and the rank of each in its group."""
    starts = pc.negate(rows["_s"])
    table = pa.table(
        {
            **{name: rows[name] for name in groups},
            "size": sizes_of(rows[EDGES]),
            "start": starts,
            **{name: rows[name] for name in TEXTS},
        }
    )
    keys = [(name, "ascending") for name in (*groups, "size", "start", *TEXTS)]
    order: IntArray = pc.sort_indices(table, sort_keys=keys).to_numpy().astype(np.int64)
    first = np.zeros(len(order), bool)
    first[:1] = True
    for name in groups:
        values = rows[name].to_numpy()[order]
        first[1:] |= values[1:] != values[:-1]
    begins = np.flatnonzero(first)
    ranks: IntArray = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    return order, ranks
