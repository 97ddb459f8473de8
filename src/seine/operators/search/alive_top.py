"""The best of the trees that are alive: SEARCH ... TOP k, a changelog.

Law: at every instant the rows that have begun and not ended are the k best of the trees alive then.

    trees ──> events (+ at _s, - at _e or _d) ──(progress)──> trees alive, by tag ──> changes of the first k

Trees of one start and equal text are told apart by nothing, so they are counted. What the first k are, at
each instant, is worked out for all tags at once (`TreesAtTimes`).

Which trees are among the first k of their tag, instant by instant, for all tags at once.

    tree (best first)   alive at 3  4  5  6        shown, k = 2      3  4  5  6        changes
    a                         1  1  0  0                             1  1  0  0        a - at 5
    b                         1  1  1  1                             1  1  1  1
    c                         1  1  1  0                             0  0  1  0        c + at 5, - at 6

A tree is shown where fewer than k better ones are alive: a running sum down the table. Of trees that nothing
happens to in some instants only the first k of a tag are in its table, so its size goes by what happens.

The node of the best trees that are alive.

    SEARCH 'lisbon prize' TOP 3

    search ── fan [tag -> tag, 3] ── top of those alive ── deliver (a changelog)

All such searches share it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.operators.group.set_operations import SetOperatorNode
from seine.operators.search.period_top import COUNT, DATA, EDGES, TAG, TEXTS, sizes_of
from seine.operators.state.event_queue import (
    EventColumns,
    EventQueue,
    EventTimes,
    times_of,
    weights_of,
)
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import EARLY, END, KEY, START, SortedRun
from seine.operators.state.store import Store, take_identities
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, Delta
from seine.rows.hashing import hash_columns

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


MOST_CELLS = 1 << 20  # of a table, unless a single instant has more
_MOST_INSTANTS = 128  # of a table


class TreesAtTimes(NamedTuple):
    """Trees, each at an instant; one that is counted more than once stands as often."""

    tree: IntArray
    time: IntArray


class ShownChanges(NamedTuple):
    """How many more or fewer of a tree are shown from an instant on."""

    tree: IntArray
    time: IntArray
    more: IntArray

    def begun(self) -> TreesAtTimes:
        return self._repeated(self.more.clip(min=0))

    def ended(self) -> TreesAtTimes:
        return self._repeated((-self.more).clip(min=0))

    def _repeated(self, counts: IntArray) -> TreesAtTimes:
        return TreesAtTimes(np.repeat(self.tree, counts), np.repeat(self.time, counts))


def shown_changes(
    tag: IntArray, wanted: IntArray, count: IntArray, times: IntArray, trees: IntArray, weights: IntArray
) -> ShownChanges:
    """What changes in the first `wanted` trees of each tag.

    Of each tree there is its tag (ascending, and of one tag the better ones first), how many of its tag are
    wanted, and how many are alive at first; of each event its time, ascending, its tree and its weight.

    >>> nothing = np.zeros(3, np.int64)
    >>> events = np.array([[3, 0, 1], [3, 1, 1], [3, 2, 1], [5, 0, -1], [6, 2, -1]]).T
    >>> [column.tolist() for column in shown_changes(nothing, nothing + 2, nothing, *events)]
    [[0, 1, 0, 2, 2], [3, 3, 5, 5, 6], [1, 1, -1, 1, -1]]
    """
    count = count.copy()
    pieces = []
    instants = np.unique(times)
    at = 0
    while at < len(instants):
        length = min(_MOST_INSTANTS, len(instants) - at)
        while True:
            low, high = np.searchsorted(times, (instants[at], instants[at + length - 1] + 1))
            rows = _concerned(tag, wanted, count, np.unique(trees[low:high]))
            if length == 1 or len(rows) * (length + 1) <= MOST_CELLS:
                break
            length = max(1, min(length - 1, MOST_CELLS // len(rows) - 1))
        columns = np.searchsorted(instants[at : at + length], times[low:high])
        alive = np.zeros((len(rows), length + 1), np.int64)
        alive[:, 0] = count[rows]
        np.add.at(alive, (np.searchsorted(rows, trees[low:high]), columns + 1), weights[low:high])
        more = np.diff(_shown(alive.cumsum(1).clip(min=0), tag[rows], wanted[rows]), axis=1)
        when, which = np.nonzero(more.T)
        pieces.append(ShownChanges(rows[which], instants[at + when], more[which, when]))
        np.add.at(count, trees[low:high], weights[low:high])
        at += length
    return ShownChanges(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def _concerned(tag: IntArray, wanted: IntArray, count: IntArray, changing: IntArray) -> IntArray:
    """The trees that may be shown for a while: those that something happens to, and the first of others."""
    others = count.clip(min=0)
    others[changing] = 0
    places = np.flatnonzero((others > 0) & np.isin(tag, np.unique(tag[changing])))
    first = _sums_before(others[places], tag[places]) < wanted[places]
    return np.union1d(changing, places[first])


def _sums_before(values: IntArray, tag: IntArray) -> IntArray:
    """The sums of what stands before each row, within its tag; of each column, if there are several."""
    if not len(tag):
        return values
    before = values.cumsum(0) - values
    first = np.searchsorted(tag, tag)
    sums: IntArray = before - before[first]
    return sums


def _shown(alive: IntArray, tag: IntArray, wanted: IntArray) -> IntArray:
    """How many of each tree are among the first of its tag, at each instant."""
    room = wanted[:, None] - _sums_before(alive, tag)
    shown: IntArray = np.clip(room, 0, alive)
    return shown


@dataclass(frozen=True)
class AliveTopNode(SetOperatorNode, StatefulNode):
    """The best of the trees alive at each instant, by tag, as they come and go."""

    kind = "alive_top"

    def make_operator(self, flow: HostFlow) -> AliveTopOperator:
        return AliveTopOperator(self)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)
