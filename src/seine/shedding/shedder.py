"""Load shedding of a window join: decides instant by instant which tuples of each window stay in memory.

    arrivals at t ─> rank ─┐
    window after expiry ───┴─> the `capacity` highest stay ─> evictions at t

Law, at every instant t of an arrival, be it one that joins with nothing and is not admitted: (1) tuples that
expired, or that nothing can match any more, leave; (2) every policy ranks what its window holds and the
arrivals of its stream; where matches in the opposite window count, these are what it holds after (1) and the
arrivals of t; (3) of both, the `capacity` highest stay. Then arrivals probe what the *other* windows hold. So
shedding turns the end of a tuple's lifetime into min(expiry, instant of its eviction), and the join is
otherwise the ordinary one. The evictions depend on the arrivals, never on how they were cut into steps.

    >>> import numpy as np
    >>> shedder = Shedder(Shedding("simp"), capacity=1, streams=2)
    >>> ints = lambda *values: np.array(values, np.int64)
    >>> r = Arrivals.keyed(ints(0, 1), ints(5, 6), ints(9, 10), ints(7, 7), np.array([3.0, 2.0]))
    >>> s = Arrivals.keyed(ints(0), ints(6), ints(10), ints(7), np.array([1.0]))
    >>> [(gone.number.tolist(), gone.at.tolist()) for gone in shedder.step([r, s])]
    [([1], [6]), ([], [])]

Cites: STAR 3.2
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.shedding.matches import Edges, Matches
from seine.shedding.policies import Shedding
from seine.shedding.policy import Arrivals, Evictions, Policy, State, TokenGroups, Window

_NO_GROUPS = TokenGroups(np.zeros(0), {})


class Shedder:
    """The windows of all streams of one join, with a policy each.

    `capacity` is how many tuples each window may hold. An edge is a tuple of streams that have tokens in
    common; of several edges, token f belongs to edge f % len(edges). The default is one edge of all streams.
    """

    def __init__(self, shedding: Shedding, capacity: int, streams: int, edges: Edges = ()) -> None:
        if capacity < 0 or streams < 2:
            raise ValueError(f"a join of {streams} streams with room for {capacity} tuples in each window")
        edges = edges or (tuple(range(streams)),)
        self.shedding = shedding
        self.capacity = capacity
        self._windows = [Window() for _ in range(streams)]
        self._policies: list[Policy] = [shedding.policy(stream, edges) for stream in range(streams)]
        self._matches = Matches(streams, edges)
        self._evictions: list[tuple[list[int], list[int]]] = []

    @np.errstate(over="ignore")  # an infinite priority is the highest
    def step(self, arrivals: Sequence[Arrivals]) -> list[Evictions]:
        """Process the arrivals of instants later than all before; returns what is evicted."""
        self._evictions = [([], []) for _ in arrivals]
        queues = [_rows(stream) for stream in arrivals]
        instants = np.unique(np.concatenate([stream.ts for stream in arrivals])).tolist()
        waiting = [next(queue, None) for queue in queues]
        for now in instants:
            coming: list[tuple[int, ArrivingTuple]] = []
            for stream, queue in enumerate(queues):
                while (row := waiting[stream]) is not None and row.ts == now:
                    coming.append((stream, row))
                    waiting[stream] = next(queue, None)
            self._instant(now, coming)
        return self._shed()

    def leave(self, now: int) -> None:
        """Remove what has expired or can match nothing new at an instant; no decision depends on it."""
        for stream, window in enumerate(self._windows):
            if gone := window.leaving(now):
                self._remove(stream, gone)

    @np.errstate(over="ignore")
    def squeeze(self, now: int) -> list[Evictions]:
        """Evict at an instant what exceeds a capacity that has become smaller."""
        self._evictions = [([], []) for _ in self._windows]
        self.leave(now)
        for stream in range(len(self._windows)):
            self._evict(stream, now)
        return self._shed()

    def _shed(self) -> list[Evictions]:
        """The evictions that were recorded."""
        return [Evictions(np.array(n, np.int64), np.array(at, np.int64)) for n, at in self._evictions]

    @property
    def held(self) -> list[int]:
        """How many tuples each window holds."""
        return [window.count for window in self._windows]

    def _instant(self, now: int, coming: list[tuple[int, ArrivingTuple]]) -> None:
        """Process one instant, as the law above says."""
        self.leave(now)
        groups = [self._enter(stream, row.tokens) for stream, row in coming]
        for stream, policy in enumerate(self._policies):
            if policy.watches:
                self._show(stream, policy, now, coming)
        for (stream, row), group in zip(coming, groups, strict=True):
            window = self._windows[stream]
            slot = window.add(*row, group)
            self._policies[stream].rank(window, slot, self._groups(stream))
        for stream, policy in enumerate(self._policies):
            self._matches.fresh[stream].clear()
            if self._windows[stream].count > self.capacity:
                self._evict(stream, now)
            policy.end()

    def _enter(self, stream: int, tokens: tuple[int, ...]) -> int:
        """The group of a tuple that enters its window; 0 where the policy counts no matches."""
        if not self._policies[stream].counts_matches:
            return 0
        group = self._matches.enter(stream, tokens)
        self._matches.hold(stream, group)
        return group

    def _show(self, stream: int, policy: Policy, now: int, coming: list[tuple[int, ArrivingTuple]]) -> None:
        """Show a policy the arrivals of the other streams, and its window."""
        for other, row in coming:
            if other != stream:
                policy.observe(other, row.tokens, row.importance, now)
        policy.refresh(self._windows[stream], self._groups(stream), now)

    def _groups(self, stream: int) -> TokenGroups:
        if not self._policies[stream].counts_matches:
            return _NO_GROUPS
        return TokenGroups(self._matches.matches[stream], self._matches.fresh[stream])

    def _evict(self, stream: int, now: int) -> None:
        """Evict what a window holds beyond its capacity."""
        window = self._windows[stream]
        excess = window.count - self.capacity
        if excess > 0:
            slots = self._policies[stream].victims(window, excess)
            numbers, times = self._evictions[stream]
            numbers += sorted(window.number[slots].tolist())
            times += [now] * excess
            self._remove(stream, slots)

    def _remove(self, stream: int, slots: list[int]) -> None:
        window = self._windows[stream]
        if self._policies[stream].counts_matches:
            for group in window.group[slots].tolist():
                self._matches.release(stream, group)
                self._matches.leave(stream, group)
        window.remove(slots)

    def save(self) -> pa.RecordBatch:
        """The whole state, as one row of lists."""
        columns: State = {}
        for stream, (window, policy) in enumerate(zip(self._windows, self._policies, strict=True)):
            parts = {"window": window.state(), "policy": policy.state()}
            columns |= {
                f"{stream}.{part}.{name}": values
                for part, state in parts.items()
                for name, values in state.items()
            }
        return pa.record_batch({name: pa.array([values]) for name, values in columns.items()})

    def load(self, saved: pa.RecordBatch) -> None:
        """Load, into a new shedder with the same options, what another one saved."""
        columns = {name: _numbers(saved.column(name)[0]) for name in saved.schema.names}
        for stream, (window, policy) in enumerate(zip(self._windows, self._policies, strict=True)):
            window.restore(_part(columns, f"{stream}.window."))
            policy.restore(_part(columns, f"{stream}.policy."))
            groups = [self._enter(stream, tokens) for tokens in window.tokens]
            window.group[: window.count] = groups
        for fresh in self._matches.fresh:
            fresh.clear()


class ArrivingTuple(NamedTuple):
    """One arrival; `leaves` is when it leaves by itself."""

    number: int
    ts: int
    expiry: int
    leaves: int
    importance: float
    tokens: tuple[int, ...]


def _rows(arrivals: Arrivals) -> Iterator[ArrivingTuple]:
    """Arrivals one by one, without those that have no token: they never enter a window."""
    tokens = arrivals.tokens.tolist()
    carried = (tuple(tokens[begin:end]) for begin, end in pairwise(arrivals.offsets.tolist()))
    leaves = np.minimum(arrivals.expiry, arrivals.until)
    columns = (arrivals.number, arrivals.ts, arrivals.expiry, leaves, arrivals.importance)
    rows = zip(*(column.tolist() for column in columns), carried, strict=True)
    return map(ArrivingTuple._make, (row for row in rows if row[5]))


def _numbers(value: pa.Scalar) -> AnyArray:
    if not isinstance(value, pa.ListScalar):
        raise TypeError(f"{value.type}, and not a list of numbers")
    return value.values.to_numpy()


def _part(columns: State, prefix: str) -> State:
    return {name.removeprefix(prefix): values for name, values in columns.items() if name.startswith(prefix)}
