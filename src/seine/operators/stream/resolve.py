"""Retraction by value: matches each negative tuple of a stream with the tuple that it deletes.

Law: in order of (time, arrival), a negative tuple at t deletes the oldest tuple with _s <= t < _e, not
deleted yet, that equals it in every column but the time column (NULL equals NULL). So tuples of one content
are a queue (FIFO), and a negative tuple takes its front. Whoever reads a retractable stream reads this node
above its source.

    CREATE STREAM orders (...) RETRACTABLE ...

    tuples ──> waiting ──(watermark)──> live, by content ──> + rows
    negative tuples ──> waiting ──(watermark)──> front of the queue of their content ──> - rows

All queues are resolved at once. An arrival stands in its queue from its start until its end; of one queue,
who comes first ends first. A taker at time t takes the front: the first that stands there and is not taken
yet.

With arrivals numbered in order, f of them over when the taker comes and g come before it, the front
moves by front -> min(max(front, f) + 1, g), and the taker gets max(front, f) if that is below g.
Such moves compose to moves x -> min(max(x + shift, low), high): a parallel scan finds every front.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Column
from seine.graph.node import NodesView, Signature
from seine.operators.state.event_queue import RowBuffer
from seine.operators.state.runs import RetractableRows
from seine.operators.state.sorted_run import EARLY, END, KEY, START, SortedRun, take_rows
from seine.operators.state.store import Store
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta, coalesce, data_names
from seine.rows.grouping import group_rows


@dataclass(frozen=True)
class ResolveNode(StatefulNode):
    """Finds for each negative tuple of a retractable stream the tuple that it deletes.

    Its one identity column is the arrival number of the tuple. `window` is the stream's; tuples
    that agree in the columns of the port's key are alike.
    """

    kind = "resolve"
    is_metered = False  # it emits every tuple once, and its deletion
    stream: str
    window: int | None

    def make_operator(self, flow: HostFlow) -> ResolveOperator:
        return ResolveOperator(self)

    def signature(self, standing: NodesView) -> Signature:
        shared = (self.kind, self.stream)
        return (*shared, self.owner) if self.owner else shared


ARRIVAL = "_i0"


class ResolveOperator:
    """The tuples of one retractable stream in one bucket, by their content.

    Tuples and deletions are emitted when the watermark has passed them. A tuple that is deleted at the
    instant of its start has an empty lifetime and is never emitted.
    """

    def __init__(self, node: ResolveNode) -> None:
        names = data_names(len(node.ports[0].types))
        self._stream = node.stream
        self._content = [f"c{key.index}" for key in node.ports[0].key if isinstance(key, Column)]
        self._plus = [START, END, ARRIVAL, *names]
        self._minus = [START, END, EARLY, ARRIVAL, *names]

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        horizon = clock.progress([self._stream])
        live = RetractableRows(store, "live", 1)
        plus = _released(store, "plus", START, [d.plus for d in inputs[0]], horizon)
        minus = _released(store, "minus", EARLY, [d.minus for d in inputs[0] if d.minus is not None], horizon)
        new = [] if plus is None else [SortedRun.of(plus, KEY)]
        deleted = [] if minus is None else [*self._delete(minus, new, live)]
        yield from coalesce([*self._emitted(new, deleted, live)])
        bound = FOREVER if clock.end else horizon
        for run in new:
            live.add(run.after(bound))
        live.settle(bound)

    def state_rows(self, store: Store) -> int:
        """None: tuples are held to find deletions, not for joining."""
        return 0

    def _emitted(
        self, new: Sequence[SortedRun], deleted: Sequence[pa.RecordBatch], live: RetractableRows
    ) -> Iterator[Delta]:
        for run in new:
            lasting = np.flatnonzero(live.early_ends(run.batch) > run.starts)
            rows = take_rows(run.batch, lasting)
            nothing = rows[:0].append_column(EARLY, rows[START][:0])
            yield Delta(rows.select(self._plus), nothing.select(self._minus))
        for batch in deleted:
            lived = np.flatnonzero(batch[EARLY].to_numpy() > batch[START].to_numpy())
            rows = take_rows(batch, lived)
            yield Delta(rows[:0].select(self._plus), rows.select(self._minus))

    def _delete(
        self, minus: pa.RecordBatch, new: Sequence[SortedRun], live: RetractableRows
    ) -> Iterator[pa.RecordBatch]:
        """The tuples that negative tuples delete, with `_d`; they are remembered as ended."""
        candidates = [*_alike(minus, new, live)]
        if candidates:
            plus = pa.concat_batches(candidates)
            hits, fronts = take_fronts(*self._queues(plus, minus))
            early = pa.array(minus[EARLY].to_numpy()[hits])
            deleted = take_rows(plus, fronts).append_column(EARLY, early)
            live.remember(deleted)
            yield deleted

    def _queues(self, plus: pa.RecordBatch, minus: pa.RecordBatch) -> tuple[QueuedArrivals, Takers]:
        """Tuples and negative tuples, with the number of their content."""
        keys = np.concatenate([plus[KEY].to_numpy(), minus[KEY].to_numpy()])
        groups = group_rows(keys, [pa.concat_arrays([plus[n], minus[n]]) for n in self._content])
        queue = np.empty(len(keys), np.int64)
        queue[groups.order] = groups.labels()
        stand, take = queue[: plus.num_rows], queue[plus.num_rows :]
        times = [plus[name].to_numpy() for name in (START, END, ARRIVAL)]
        return QueuedArrivals(stand, *times), Takers(take, minus[EARLY].to_numpy(), minus[ARRIVAL].to_numpy())


def _released(
    store: Store, name: str, time: str, batches: list[pa.RecordBatch], horizon: int
) -> pa.RecordBatch | None:
    batches = [batch for batch in batches if batch.num_rows]
    return RowBuffer(store, name, time).release(pa.concat_batches(batches) if batches else None, horizon)


def _alike(
    minus: pa.RecordBatch, new: Sequence[SortedRun], live: RetractableRows
) -> Iterator[pa.RecordBatch]:
    """The tuples, not deleted yet, whose content has the hash of a negative tuple."""
    keys = np.unique(minus[KEY].to_numpy())
    for run in (*live.runs.overlapping(int(minus[EARLY].to_numpy().min())), *new):
        for _, rows in run.equal_keys(keys):
            batch = take_rows(run.plain(), rows)
            alive = live.early_ends(batch) == FOREVER
            yield batch if alive.all() else take_rows(batch, np.flatnonzero(alive))


class QueuedArrivals(NamedTuple):
    """Arrivals: the number of their queue, when they come and go, and who is first at one instant."""

    queue: AnyArray
    start: AnyArray
    end: AnyArray
    rank: AnyArray


class Takers(NamedTuple):
    queue: AnyArray
    time: AnyArray
    rank: AnyArray


def take_fronts(standing: QueuedArrivals, takers: Takers) -> tuple[AnyArray, AnyArray]:
    """The takers that get something, and what each of them gets.

    >>> queue = np.zeros(3, np.int64)
    >>> standing = QueuedArrivals(queue, np.array([1, 2, 9]), np.array([5, 6, 13]), np.array([0, 1, 4]))
    >>> takers = Takers(queue, np.array([3, 5, 8]), np.array([2, 3, 5]))
    >>> [x.tolist() for x in take_fronts(standing, takers)]
    [[0, 1], [0, 1]]
    """
    order = np.lexsort((takers.rank, takers.time, takers.queue))
    numbered = np.lexsort((standing.rank, standing.start, standing.queue))
    come = _count_before(standing.queue, standing.start, standing.rank, takers, takers.rank)[order]
    last = np.full(len(standing.queue), -1)  # who ends at the instant of a taker is over
    over = _count_before(standing.queue, standing.end, last, takers, np.zeros(len(order), np.int64))[order]
    first = np.ones(len(order), bool)
    first[1:] = np.diff(takers.queue[order]) != 0
    after = _scan(first, over, come)
    before = np.where(first, over, np.roll(after, 1))
    front = np.maximum(before, over)
    hit = front < come
    return order[hit], numbered[front[hit]]


def _count_before(
    queue: AnyArray, time: AnyArray, rank: AnyArray, takers: Takers, taker_rank: AnyArray
) -> AnyArray:
    """How many of (queue, time, rank) are smaller than each taker's."""
    keys = [(rank, taker_rank), (time, takers.time), (queue, takers.queue)]
    order = np.lexsort([np.concatenate(pair) for pair in keys])
    is_taker = order >= len(queue)
    counts = np.empty(len(takers.queue), np.int64)
    counts[order[is_taker] - len(queue)] = np.cumsum(~is_taker)[is_taker]
    return counts


def _scan(first: AnyArray, over: AnyArray, come: AnyArray) -> AnyArray:
    """The front after each taker, takers being in order and `first` marking where a queue begins."""
    shift = np.ones(len(first), np.int64)
    low = np.minimum(over + 1, come)
    high = np.where(first, low, come)
    longest = np.diff(np.append(np.flatnonzero(first), len(first))).max(initial=0)
    reach = 1
    while reach < longest:
        earlier = [
            np.clip(bound[:-reach] + shift[reach:], low[reach:], high[reach:]) for bound in (low, high)
        ]
        low[reach:], high[reach:] = earlier
        shift[reach:] = shift[reach:] + shift[:-reach]
        reach *= 2
    fronts: AnyArray = low
    return fronts
