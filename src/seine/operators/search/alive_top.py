"""The best of the trees that are alive: SEARCH ... TOP k, a changelog.

Law: at every instant the rows that have begun and not ended are the k best of the trees alive then.

    trees ──> events (+ at _s, - at _e or _d) ──(progress)──> trees alive, by tag ──> changes of the first k

Trees of one start and equal text are told apart by nothing, so they are counted. What the first k are, at
each instant, is worked out for all tags at once (`ranking_over_time.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.operators.search.ranking_over_time import ShownChanges, shown_changes
from seine.operators.search.tree_ranks import COUNT, DATA, EDGES, TAG, TEXTS, sizes_of
from seine.operators.state.event_queue import (
    EventColumns,
    EventQueue,
    EventTimes,
    times_of,
    weights_of,
)
from seine.operators.state.identified_rows import take_identities
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import EARLY, END, KEY, START, SortedRun
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, Delta
from seine.rows.hashing import hash_columns

if TYPE_CHECKING:
    from seine.operators.search.alive_top_node import AliveTopNode

_BEGUN = "_begun"  # the start of a tree, where START is another time
_ALIKE = "_n"  # how many trees alive are alike
_IDENTITY = "_i0"
_TREE = [_BEGUN, *DATA]


class AliveTopOperator:
    """One node of the best trees alive, in one bucket."""

    def __init__(self, node: AliveTopNode) -> None:
        self._streams = node.streams

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        arrived = EventTimes([], [])
        for delta in inputs[0]:
            arrived.take(delta, _carried)
        due = EventQueue(store, "events").advance(arrived.events, clock.progress(self._streams))
        if due is None or not due.num_rows:
            return
        alive, shown = Runs(store, "alive"), Runs(store, "shown")
        keys = np.unique(hash_columns([due[TAG]], due.num_rows))
        held, before = _taken(alive, keys), _taken(shown, keys)
        trees = _Trees.of([held.select(_TREE), due.select(_TREE), before.select(_TREE)])
        of_held, of_due, of_before = trees.parts
        count = np.bincount(of_held, held[_ALIKE].to_numpy(), len(trees.wanted)).astype(np.int64)
        changes = shown_changes(trees.tag, trees.wanted, count, times_of(due), of_due, weights_of(due))
        rows = _shown_rows(trees, before, of_before, changes, store)
        yield from rows.changes()
        np.add.at(count, of_due, weights_of(due))
        _put(alive, trees.rows(np.flatnonzero(count)).append_column(_ALIKE, pa.array(count[count != 0])))
        _put(shown, rows.kept())

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return Runs(store, "alive").rows


def _carried(rows: pa.RecordBatch) -> EventColumns:
    return [(_BEGUN, rows[START]), *((name, rows[name]) for name in DATA)]


class _Trees(NamedTuple):
    """Different trees by tag, the better ones of a tag first."""

    batch: pa.RecordBatch
    firsts: IntArray  # a row of each tree
    parts: list[IntArray]  # the trees of the rows of each batch that they come from
    tag: IntArray
    wanted: IntArray

    @staticmethod
    def of(batches: list[pa.RecordBatch]) -> _Trees:
        whole = pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
        ranks = {TAG: whole[TAG], "size": sizes_of(whole[EDGES]), "start": pc.negate(whole[_BEGUN])}
        table = pa.table(ranks | {name: whole[name] for name in TEXTS})
        keys = [(name, "ascending") for name in table.schema.names]
        order: IntArray = pc.sort_indices(table, sort_keys=keys).to_numpy().astype(np.int64)
        fresh = np.ones(len(order), bool)
        fresh[1:] = False
        for name in table.schema.names:
            column = table[name].combine_chunks().take(pa.array(order))
            fresh[1:] |= pc.not_equal(column[1:], column[:-1]).to_numpy(zero_copy_only=False)
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.cumsum(fresh) - 1
        cuts = np.cumsum([batch.num_rows for batch in batches])[:-1]
        firsts = order[fresh]
        tag, wanted = (whole[name].to_numpy()[firsts] for name in (TAG, COUNT))
        return _Trees(whole, firsts, np.split(numbers, cuts), tag, wanted)

    def rows(self, trees: IntArray) -> pa.RecordBatch:
        """The rows of trees, with lives that do not end."""
        rows = self.batch.take(pa.array(self.firsts[trees]))
        lives = [rows[_BEGUN], pa.array(np.full(len(trees), FOREVER))]
        return pa.RecordBatch.from_arrays([*lives, *rows.columns], [START, END, *_TREE])


class _ShownRows(NamedTuple):
    """Rows that are shown, by tree and in the order of their beginning, and when each ends, or FOREVER."""

    rows: pa.RecordBatch
    fresh: IntArray  # which of them begin now
    ends: IntArray

    def changes(self) -> Iterator[Delta]:
        """Rows that begin, then rows that end; one may do both."""
        ending = np.flatnonzero(self.ends < FOREVER)
        names = [START, END, _IDENTITY, *DATA]
        plus = self.rows.select(names).take(pa.array(self.fresh))
        minus = self.rows.select(names).take(pa.array(ending))
        if plus.num_rows or minus.num_rows:
            yield Delta(plus, minus.add_column(2, EARLY, pa.array(self.ends[ending])))

    def kept(self) -> pa.RecordBatch:
        return self.rows.take(pa.array(np.flatnonzero(self.ends == FOREVER)))


def _shown_rows(
    trees: _Trees, before: pa.RecordBatch, of_before: IntArray, changes: ShownChanges, store: Store
) -> _ShownRows:
    """Rows that were shown or begin to be; of equal ones those end first that began first."""
    begin, end = changes.begun(), changes.ended()
    identities = take_identities(store, len(begin.tree))
    tree = np.concatenate([of_before, begin.tree])
    start = np.concatenate([before[START].to_numpy(), begin.time])
    identity = np.concatenate([before[_IDENTITY].to_numpy(), identities])
    order = np.lexsort((identity, start, tree))
    tree, start, identity = tree[order], start[order], identity[order]
    ends = np.full(len(tree), FOREVER)
    by_tree = np.lexsort((end.time, end.tree))
    ending = end.tree[by_tree]
    nth = np.arange(len(ending)) - np.searchsorted(ending, ending)
    ends[np.searchsorted(tree, ending) + nth] = end.time[by_tree]
    rows = trees.rows(tree)
    rows = rows.set_column(0, START, pa.array(start)).append_column(_IDENTITY, pa.array(identity))
    return _ShownRows(rows, np.flatnonzero(order >= len(of_before)), ends)


_EMPTY = pa.schema(
    [(name, pa.int64()) for name in (START, END, _BEGUN, *DATA[:3])]
    + [(name, pa.string()) for name in TEXTS]
    + [(_ALIKE, pa.int64()), (_IDENTITY, pa.int64())]
)


def _taken(runs: Runs, keys: IntArray) -> pa.RecordBatch:
    """The rows of tags, which are let go."""
    taken = runs.take(lambda run: np.flatnonzero(np.isin(run.keys, keys)))
    batches = [batch for batch in taken if batch.num_rows]
    return pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], _EMPTY)


def _put(runs: Runs, rows: pa.RecordBatch) -> None:
    keyed = rows.add_column(0, KEY, pa.array(hash_columns([rows[TAG]], rows.num_rows)))
    runs.add(SortedRun.of(keyed, KEY))
    runs.settle(NEVER)
