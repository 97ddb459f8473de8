"""A window join of streams with load shedding: it holds no more tuples than its memory limit.

The streams are joined directly or through relations (a star join):

    CREATE QUERY q WITH (memory = 1000, shed = 'auto') AS
    SELECT ... FROM r, s, edges WHERE r.k = edges.a AND edges.b = s.k

The join follows event time up to the progress of all its streams; later tuples wait in a queue, which does
not count as memory.

    arrivals ─> queue until complete ─> shedder: admit or evict ─> join with the other windows ─> results
                                             |
                                windows of `memory / streams` tuples each

Law: at instant t, what has expired leaves; then arrivals are admitted or evict others (`seine.shedding`);
then each arrival is joined with what the other windows hold after that, and with all other arrivals of t. So
the results are those exact results of which every tuple that is older than the latest one still resides, with
the same lifetimes; and each window holds at most an equal share, however the input was cut into steps.

Cites: STAR 3.2 (online approximation)

The delta rule of a multi-way join: the results that the arrivals of a slice of event time add.

    delta(R ⋈ S) = dR ⋈ (S + dS)  +  R ⋈ dS          likewise for more streams, in the order of ports

Law: each combination of one tuple of each stream, with relation tuples between them, that has an arrival is
emitted exactly once: by its first arrival in the order of ports, which probes what was held in the streams
before it, and all tuples of the streams behind it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import FloatArray, IntArray
from seine.algebra.expressions import Expression, columns_of
from seine.algebra.star import MemoryLimit, Probe, Star
from seine.graph.node import NodesView, Signature
from seine.operators.join.combination import key_columns
from seine.operators.limited.join_memory import JoinMemory, MemoryAccount, WindowCapacity
from seine.operators.limited.losses import Losses
from seine.operators.limited.star_combinations import (
    END,
    START,
    UNTIL,
    ArrivedTuples,
    Combinations,
    Partners,
    Residents,
    extended,
    importance_of_all,
)
from seine.operators.limited.tokens import Carrier, Relations
from seine.operators.state.event_queue import RowBuffer
from seine.operators.state.relation_index import RelationIndex
from seine.operators.state.store import Store
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.clock import Clock
from seine.rows.column_arrays import to_doubles
from seine.rows.delta import ARRIVAL_NUMBER, FOREVER, Delta, coalesce, concat_batches
from seine.shedding.policy import Arrivals


@dataclass(frozen=True)
class LimitedNode(StatefulNode):
    """Joins streams, directly or through relations, within a memory; all of it is in one bucket.

    Each port is a stream of the star, and has a window that holds an equal share of the memory. `out`
    addresses all items side by side.
    """

    kind = "limited"
    is_join = True
    numbered = True
    budgeted = True
    star: Star
    memory: MemoryLimit

    def make_operator(self, flow: HostFlow) -> LimitedOperator:
        return LimitedOperator(self, flow.relations.index)

    def signature(self, standing: NodesView) -> Signature:
        below = tuple(standing.beneath_prefilter(self, port) for port in range(len(self.ports)))
        return limited_signature(below, self.star, self.memory, self.owner)


def limited_signature(inputs: Hashable, star: Hashable, memory: Hashable, owner: str) -> Signature:
    """Constants count: what is given up depends on all conditions and options."""
    return ("limited", inputs, star, memory, owner)


class LimitedOperator:
    """The operator of a `LimitedNode`."""

    def __init__(self, node: LimitedNode, relations: Relations) -> None:
        self._node = node
        self._join = ArrivalJoin(node, relations)
        self._losses = Losses(node, relations)
        ports = range(len(node.ports))
        self._carriers = [Carrier(node.star, port, relations) for port in ports]
        self._items = [node.star.items[number] for number in node.star.streams]
        self._names = [[START, END, ARRIVAL_NUMBER, *self.needed(port)] for port in ports]

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns that rows of a port must have."""
        return self._join.needed(port)

    @property
    def streams(self) -> tuple[str, ...]:
        return self._node.streams

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        """Replay the instants that have become complete; yields the results that follow."""
        horizon = clock.progress(self._node.streams)
        replay = self.begin(inputs, horizon, store)
        if len(replay.times):
            yield from coalesce(replay.advance(FOREVER))
        replay.close(horizon)
        if clock.end:
            replay.clear()

    def begin(self, inputs: list[list[Delta]], horizon: int, store: Store) -> Replay:
        """Queue what arrived, and prepare to replay the instants before a horizon."""
        due = [self._released(port, pieces, horizon, store) for port, pieces in enumerate(inputs)]
        return Replay(self._node, self._join, self._memory(store), due)

    def state_rows(self, store: Store) -> int:
        """How many tuples all windows hold."""
        return self._memory(store).rows

    def state_by_port(self, store: Store) -> list[int]:
        """How many tuples the window of each port holds."""
        return self._memory(store).rows_by_port

    def account(self, store: Store) -> MemoryAccount:
        """The metrics of the join so far."""
        return self._memory(store).account.summary()

    def _memory(self, store: Store) -> JoinMemory:
        return JoinMemory(self._node, store, self._losses)

    def _released(self, port: int, pieces: list[Delta], horizon: int, store: Store) -> ArrivedTuples:
        """Queue arrivals; the queued tuples of complete instants, in the order of event time and arrival."""
        batches = [delta.plus.select(self._names[port]) for delta in pieces if delta.plus.num_rows]
        rows = RowBuffer(store, f"waiting{port}", START).release(
            concat_batches(batches) if batches else None, horizon
        )
        if rows is None:
            return self._arrived(port, self._empty(port))
        order = np.lexsort((rows[ARRIVAL_NUMBER].to_numpy(), rows[START].to_numpy()))
        return self._arrived(port, rows.take(pa.array(order)))

    def _empty(self, port: int) -> pa.RecordBatch:
        """A batch of a port without rows."""
        types = self._items[port].types
        named = {
            name: types[int(name[1:])].arrow() if name[0] == "c" else pa.int64() for name in self._names[port]
        }
        return pa.RecordBatch.from_arrays([pa.array([], type_) for type_ in named.values()], [*named])

    def _arrived(self, port: int, rows: pa.RecordBatch) -> ArrivedTuples:
        """Tuples with their tokens; tuples without a token are arrivals too, because they mark an instant."""
        carried = self._carriers[port].carried(rows)
        arrivals = Arrivals(
            rows[ARRIVAL_NUMBER].to_numpy(),
            rows[START].to_numpy(),
            rows[END].to_numpy(),
            carried.until,
            self._importance(port, rows),
            carried.offsets,
            carried.tokens,
        )
        useful = rows.append_column(UNTIL, pa.array(carried.until)).take(pa.array(carried.useful))
        return ArrivedTuples(useful, arrivals)

    def _importance(self, port: int, rows: pa.RecordBatch) -> FloatArray:
        """The importance of each tuple; 1 in a stream without IMPORTANCE BY."""
        index = self._items[port].importance
        if index is None:
            return np.ones(rows.num_rows)
        return to_doubles(rows[f"c{index}"])


# tuples of a slice: fewer cost too much each, more would mostly expire before they could join each other
_LEAST_SLICE, _LARGEST_SLICE = 4096, 1 << 16


class Replay:
    """The arrivals of complete instants, and the join and the windows that they pass through."""

    def __init__(
        self, node: LimitedNode, join: ArrivalJoin, memory: JoinMemory, due: Sequence[ArrivedTuples]
    ) -> None:
        self._star, self._how = node.star, node.memory.importance
        self._join, self._memory, self._due = join, memory, due
        self.times = np.sort(np.concatenate([arrived.arrivals.ts for arrived in due]))
        self._passed = 0
        self._opened = False

    @property
    def capacity(self) -> WindowCapacity:
        """What the windows may hold."""
        return self._memory.capacity

    def advance(self, end: int) -> Iterator[Delta]:
        """Replay all instants before `end`; yields the results that follow."""
        last = int(np.searchsorted(self.times, end))
        times, self._passed = self.times[self._passed : last], last
        self._open()
        for begin, until in pairwise(_cuts(times, self.capacity)):
            residents = self._memory.admit([arrived.between(begin, until) for arrived in self._due])
            for combinations in self._join.results(residents):
                self._memory.account.deliver(importance_of_all(combinations, self._star, self._how))
                yield Delta(self._join.output(combinations))
            self._memory.keep(residents, until - 1)

    def delivered_since(self) -> float:
        """The importance of the results delivered since the last call."""
        return self._memory.account.delivered_since()

    def grant(self, tuples: int, instant: int) -> None:
        """From an instant on, all windows together may hold so many tuples."""
        self._open()
        self.capacity.grant(tuples)
        self._memory.squeeze(instant)

    def close(self, horizon: int) -> None:
        """Write what is held when all instants before the horizon are over."""
        if self._opened:
            self._memory.close(horizon)

    def _open(self) -> None:
        if not self._opened:
            self._memory.open([arrived.batch[:0] for arrived in self._due])
            self._opened = True

    def clear(self) -> None:
        """Drop everything: the streams have ended."""
        self._memory.clear()


def _cuts(times: IntArray, capacity: WindowCapacity) -> list[int]:
    """Where slices begin, and where the last one ends; each has an arrival, none has a fixed point inside."""
    if not len(times):
        return []
    begins = times[:: min(max(_LEAST_SLICE, 2 * capacity.tuples), _LARGEST_SLICE)]
    if capacity.varies:
        first = np.flatnonzero(np.diff(times // capacity.period)) + 1
        begins = np.concatenate([begins, times[first]])
    return [*np.unique(begins).tolist(), int(times[-1]) + 1]


class ArrivalJoin:
    """Joins the arrivals of a star join with what its windows hold and with each other."""

    def __init__(self, node: LimitedNode, relations: Relations) -> None:
        self._star, self._out, self._relations = node.star, node.out, relations

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns of a port that output, conditions, keys and importance read."""
        number = self._star.streams[port]
        item = self._star.items[number]
        sequences = [
            *self._star.probe_orders,
            *(probes for edge in self._star.edges for probes in edge.probe_orders),
        ]
        sequences += [probes for filters in self._star.filters for probes in filters]
        all_probes = [probe for probes in sequences for probe in probes]
        combined = {
            *self._out,
            *_read(e for probe in all_probes for e in (*probe.bound_key, *probe.conditions)),
        }
        columns = _read(e for probe in all_probes if probe.item == number for e in probe.own_key)
        keys = [(edge, edge.ports.index(port)) for edge in self._star.edges if port in edge.ports]
        columns |= _read(e for edge, place in keys for e in edge.keys[place])
        columns |= {index - item.start for index in combined if index in item.positions}
        columns |= set() if item.importance is None else {item.importance}
        return tuple(f"c{index}" for index in sorted(columns))

    def results(self, residents: Sequence[Residents]) -> Iterator[Combinations]:
        """The combinations that the arrivals of a slice add, in chunks."""
        indexes: dict[tuple[int, tuple[Expression, ...]], RelationIndex] = {}
        for port, window in enumerate(residents):
            number = self._star.streams[port]
            new = np.arange(window.old, window.batch.num_rows)
            start = Combinations(self._star, {number: window.batch}, {number: new}, window.lives.take(new))
            probes = self._star.probe_orders[port]
            partners = [self._partners(probe, port, residents, indexes) for probe in probes]
            yield from extended(start, probes, partners)

    def _partners(
        self,
        probe: Probe,
        port: int,
        residents: Sequence[Residents],
        indexes: dict[tuple[int, tuple[Expression, ...]], RelationIndex],
    ) -> Partners:
        item = self._star.items[probe.item]
        if item.port is None:
            return Partners(self._relations(item.relation or "", probe.own_key))
        others = residents[item.port]
        key = (item.port, probe.own_key)
        if key not in indexes:
            indexes[key] = RelationIndex(others.batch, key_columns(others.batch, probe.own_key))
        return Partners(indexes[key], others.lives, others.old if item.port < port else None)

    def output(self, combinations: Combinations) -> pa.RecordBatch:
        """Combinations as output rows."""
        names = ["_s", "_e", *(f"c{index}" for index in self._out)]
        columns = [pa.array(combinations.lives.start), pa.array(combinations.lives.end)]
        return pa.RecordBatch.from_arrays([*columns, *(combinations[index] for index in self._out)], names)


def _read(expressions: Iterator[Expression]) -> set[int]:
    """The columns that expressions read."""
    return {index for expression in expressions for index in columns_of(expression)}


_LEAST_WEIGHT = 0.01  # of the largest weight: a join that has delivered nothing may still show its worth


@dataclass(frozen=True)
class BudgetedJoin:
    """A join in one step: its operator, its input and its state."""

    operator: LimitedOperator
    inputs: list[list[Delta]]
    store: Store


def step_together(members: Sequence[BudgetedJoin], clock: Clock, budget: int) -> Iterator[tuple[int, Delta]]:
    """Step all joins that share a budget; yields (number of the join, its output)."""
    horizon = clock.progress({stream for member in members for stream in member.operator.streams})
    replays = [member.operator.begin(member.inputs, horizon, member.store) for member in members]
    period = max(replay.capacity.period for replay in replays)
    times = np.concatenate([replay.times for replay in replays])
    for point in np.unique(times // period).tolist():
        _divide(replays, budget, point, point * period)
        for number, replay in enumerate(replays):
            for delta in replay.advance((point + 1) * period):
                yield number, delta
    for replay in replays:
        replay.close(horizon)
        if clock.end:
            replay.clear()


def _divide(replays: Sequence[Replay], budget: int, point: int, instant: int) -> None:
    """Divide the budget at a fixed point, unless that was done before."""
    new = [replay.capacity.reach(point) for replay in replays]
    if not any(new):
        return
    wishes = [replay.capacity.most for replay in replays]
    delivered = [replay.delivered_since() for replay in replays]
    largest = max(delivered)
    weights = (
        [max(one, _LEAST_WEIGHT * largest) for one in delivered] if largest > 0 else [*map(float, wishes)]
    )
    for replay, share in zip(replays, divided(budget, wishes, weights), strict=True):
        replay.grant(share, instant)


def divided(budget: int, wishes: Sequence[int], weights: Sequence[float]) -> list[int]:
    """Max-min fair shares by weight, none beyond its wish; what one cannot use goes to the others.

    >>> divided(10, [20, 20], [3.0, 1.0]), divided(10, [4, 20], [3.0, 1.0]), divided(50, [4, 20], [1.0, 1.0])
    ([7, 2], [4, 6], [4, 20])
    """
    shares, left, rest = [0] * len(wishes), budget, set(range(len(wishes)))
    while rest:
        whole = sum(weights[i] for i in rest)
        full = {i for i in rest if left * weights[i] >= wishes[i] * whole}
        if not full:
            for i in rest:
                shares[i] = int(left * weights[i] / whole)
            break
        for i in full:
            shares[i] = wishes[i]
        left, rest = left - sum(wishes[i] for i in full), rest - full
    return shares
