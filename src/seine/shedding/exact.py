"""The exact results of a window join of two streams, as with unlimited memory: what policies aim at.

The offline optimum of two streams: the largest total importance that any shedding policy can reach.

A result is made by the younger tuple probing the window of the older one, so what the left window holds never
matters for the right one: the problem decomposes into one for each window (`best_stays`), and results of
two tuples of the same instant are always made.

Offline caching with gains, solved as a minimum-cost flow: which tuples a window holds, and until when.

A tuple that is held from its arrival through instant t gains what it matches up to t, and takes one slot for
as long; it may be evicted at any time and keeps its gains until then. Each of `capacity` slots is one unit of
flow along the line of instants, idle or occupied by one tuple at a time. An integral optimal flow exists, and
it is the answer.

    instants   0 ────── 1 ────── 2 ────── 3       arcs of cost 0: a slot is idle
               └─ -5 ─> o ─ -1 ─> o               a tuple of instant 0: each arc gains, and from each o
                        └────────> └────────>     an arc leads back to the line: eviction

Law: `best_stays` maximises the sum of gains over all choices that never hold more than `capacity` tuples.

    >>> early = TupleGains(start=0, gains=((2, 5), (4, 1)))
    >>> late = TupleGains(start=3, gains=((5, 3),))
    >>> best_stays([early, late], capacity=1)
    [2, 5]

Cites: STAR 3.1
Differs: the paper lists all memory states of a window and takes the best path through them, which
grows exponentially; this is polynomial: at most `capacity` shortest paths.

Minimum-cost flow by successive shortest paths with potentials, over integers: exact.

>>> flow = CheapestFlow(3)
>>> arcs = [flow.add(0, 1, 1, -5), flow.add(1, 2, 2, -1), flow.add(0, 1, 2, 0)]
>>> flow.run(0, 2, 2, [0, -5, -6])
>>> [flow.flow(arc) for arc in arcs]
[1, 2, 1]
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from math import fsum

import numpy as np

from seine.algebra.arrays import BoolArray, FloatArray, IntArray
from seine.shedding.policy import FOREVER, Arrivals, Evictions

COMBINATIONS = {"min": np.minimum, "sum": np.add, "product": np.multiply}


@dataclass(frozen=True)
class ExactResults:
    """Results: the places of the two tuples in their streams, their timestamps, and their importance."""

    left: IntArray
    right: IntArray
    left_ts: IntArray
    right_ts: IntArray
    importance: FloatArray

    def total(self) -> float:
        """The importance of all results."""
        return float(self.importance.sum())

    def reported(self, left_until: IntArray, right_until: IntArray) -> BoolArray:
        """Which results remain when each tuple resides in [ts, until): the older one must still reside."""
        older_left = (self.left_ts < self.right_ts) & (left_until[self.left] > self.right_ts)
        older_right = (self.right_ts < self.left_ts) & (right_until[self.right] > self.left_ts)
        kept: BoolArray = older_left | older_right | (self.left_ts == self.right_ts)
        return kept


def exact_results(left: Arrivals, right: Arrivals, combine: str = "min") -> ExactResults:
    """All pairs whose lifetimes overlap, once for each token that they have in common.

    >>> ints = lambda *values: np.array(values, np.int64)
    >>> r = Arrivals.keyed(ints(0, 1), ints(0, 9), ints(4, 13), ints(7, 7), np.array([3.0, 4.0]))
    >>> s = Arrivals.keyed(ints(0, 1), ints(2, 3), ints(9, 13), ints(7, 8), np.array([2.0, 2.0]))
    >>> exact = exact_results(r, s)
    >>> exact.left.tolist(), exact.right.tolist(), exact.importance.tolist()
    ([0], [0], [2.0])
    """
    owners = [np.repeat(np.arange(len(side)), np.diff(side.offsets)) for side in (left, right)]
    tokens = [side.tokens[side.offsets[0] : side.offsets[-1]] for side in (left, right)]
    order = np.lexsort((right.ts[owners[1]], tokens[1]))
    candidates = _candidate_ranges(left, right, owners, tokens, order, _longest(right))
    rows, places = _expand(*candidates)
    lefts, rights = owners[0][rows], owners[1][order][places]
    alive = (left.ts[lefts] < right.expiry[rights]) & (right.ts[rights] < left.expiry[lefts])
    lefts, rights = lefts[alive], rights[alive]
    importance = COMBINATIONS[combine](left.importance[lefts], right.importance[rights])
    return ExactResults(lefts, rights, left.ts[lefts], right.ts[rights], importance)


def residence(arrivals: Arrivals, evictions: Evictions) -> IntArray:
    """Until when each tuple resides in its window, given the evictions; FOREVER if it was not evicted."""
    until = np.full(len(arrivals), FOREVER, np.int64)
    until[np.searchsorted(arrivals.number, evictions.number)] = evictions.at
    return until


def _longest(arrivals: Arrivals) -> int:
    """The longest lifetime."""
    lives = arrivals.expiry - arrivals.ts
    return int(lives.max()) if len(lives) else 0


def _candidate_ranges(
    left: Arrivals,
    right: Arrivals,
    owners: list[IntArray],
    tokens: list[IntArray],
    order: IntArray,
    longest: int,
) -> tuple[IntArray, IntArray]:
    """For each token of a left tuple the range, in `order`, of right tuples with it that may be alive."""
    kinds, numbers = np.unique(tokens[1], return_inverse=True)
    times, instants = np.unique(right.ts, return_inverse=True)
    width = len(times) + 1
    key = (numbers * width + instants[owners[1]])[order]
    kind = np.searchsorted(kinds, tokens[0])
    known = kind < len(kinds)
    known[known] = kinds[kind[known]] == tokens[0][known]
    begin = np.searchsorted(times, left.ts - min(longest, FOREVER // 4), "right")[owners[0]]
    end = np.searchsorted(times, left.expiry)[owners[0]]
    low = np.searchsorted(key, kind * width + begin)
    high = np.searchsorted(key, kind * width + end)
    return np.where(known, low, 0), np.where(known, high, 0)


def _expand(low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Each range [low, high) as pairs (number of the range, place in it)."""
    sizes = np.maximum(high - low, 0)
    rows = np.repeat(np.arange(len(low)), sizes)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rows, np.arange(len(rows)) - first + low[rows]


@dataclass(frozen=True)
class Optimum:
    """The best total importance, its number of results and, per window, until when each tuple is held.

    Tuple i of a window is held in [ts, until[i]); until[i] is its timestamp if it is never held.
    """

    importance: float
    outputs: int
    until: tuple[IntArray, IntArray]


def find_optimum(exact: ExactResults, starts: tuple[IntArray, IntArray], capacity: int) -> Optimum:
    """The optimum of two windows of this capacity each; `starts` are the timestamps of all tuples."""
    weights, _ = whole_weights(exact.importance)
    left = _best(exact.left, exact.left_ts, exact.right_ts, weights, starts[0], capacity)
    right = _best(exact.right, exact.right_ts, exact.left_ts, weights, starts[1], capacity)
    kept = exact.reported(left, right)
    return Optimum(fsum(exact.importance[kept].tolist()), int(kept.sum()), (left, right))


def _best(
    holder: IntArray, since: IntArray, instants: IntArray, weights: list[int], starts: IntArray, capacity: int
) -> IntArray:
    """Until when a window holds each of its tuples; a gain comes at the instant of the younger tuple."""
    gains: list[dict[int, int]] = [{} for _ in starts]
    older = np.flatnonzero(since < instants)
    for place, tuple_, instant in zip(
        older.tolist(), holder[older].tolist(), instants[older].tolist(), strict=True
    ):
        gains[tuple_][instant] = gains[tuple_].get(instant, 0) + weights[place]
    stays = [
        TupleGains(start, tuple(sorted((at, gain) for at, gain in by_instant.items() if gain)))
        for start, by_instant in zip(starts.tolist(), gains, strict=True)
    ]
    last = best_stays(stays, capacity)
    return np.array([s.start if at is None else at + 1 for s, at in zip(stays, last, strict=True)], np.int64)


def whole_weights(importance: FloatArray) -> tuple[list[int], Fraction]:
    """Importances as integers, and what 1 of them is: every float is a multiple of a power of two.

    >>> whole_weights(np.array([0.5, 3.0]))
    ([1, 6], Fraction(1, 2))
    """
    ratios = [value.as_integer_ratio() for value in importance.tolist()]
    common = max((below for _, below in ratios), default=1)
    return [above * (common // below) for above, below in ratios], Fraction(1, common)


@dataclass(frozen=True)
class TupleGains:
    """A tuple that arrives at `start`, and (instant, gain) of everything it would match, ascending."""

    start: int
    gains: tuple[tuple[int, int], ...]


def best_stays(stays: Sequence[TupleGains], capacity: int) -> list[int | None]:
    """For each tuple the last instant at which to hold it; None if it is not worth holding at all."""
    line = sorted({stay.start for stay in stays if stay.gains})
    if not line or not capacity:
        return [None] * len(stays)
    steps = [_steps(stay, line) for stay in stays]
    flow = CheapestFlow(len(line) + 1 + sum(map(len, steps)))
    for place in range(len(line)):
        flow.add(place, place + 1, capacity, 0)
    arcs = _add_chains(flow, stays, steps, line)
    flow.run(0, len(line), capacity, _distances(stays, steps, line))
    return [_last(flow, chain, own_steps) for chain, own_steps in zip(arcs, steps, strict=True)]


Step = tuple[int, int, int]  # where on the line a slot is free again, the gain until then, the last instant


def _steps(stay: TupleGains, line: list[int]) -> list[Step]:
    """The choices of how long to hold a tuple; of those that free the slot at the same place the longest."""
    steps: list[Step] = []
    for instant, gain in stay.gains:
        free = bisect_right(line, instant)
        if steps and steps[-1][0] == free:
            gain += steps.pop()[1]
        steps.append((free, gain, instant))
    return steps


def _add_chains(
    flow: CheapestFlow, stays: Sequence[TupleGains], steps: list[list[Step]], line: list[int]
) -> list[list[int]]:
    """For each tuple a chain of arcs off the line, with an arc back to it after every step."""
    node = len(line) + 1
    arcs = []
    for stay, own_steps in zip(stays, steps, strict=True):
        tail, chain = bisect_right(line, stay.start) - 1, []
        for free, gain, _ in own_steps:
            chain.append(flow.add(tail, node, 1, -gain))
            flow.add(node, free, 1, 0)
            tail, node = node, node + 1
        arcs.append(chain)
    return arcs


def _distances(stays: Sequence[TupleGains], steps: list[list[Step]], line: list[int]) -> list[int]:
    """The shortest distances from the first instant in the empty network, from left to right."""
    starting: list[list[int]] = [[] for _ in line]
    for number, stay in enumerate(stays):
        if steps[number]:
            starting[bisect_right(line, stay.start) - 1].append(number)
    distances = [0] * (len(line) + 1)
    chains: list[list[int]] = [[] for _ in stays]
    for place, numbers in enumerate(starting):
        for number in numbers:
            far = distances[place]
            for free, gain, _ in steps[number]:
                far -= gain
                chains[number].append(far)
                distances[free] = min(distances[free], far)
        distances[place + 1] = min(distances[place + 1], distances[place])
    return distances + [far for chain in chains for far in chain]


def _last(flow: CheapestFlow, chain: list[int], steps: list[Step]) -> int | None:
    """The last instant of the last step that is used; None if none is."""
    taken = [step for arc, step in zip(chain, steps, strict=True) if flow.flow(arc)]
    return taken[-1][2] if taken else None


_UNREACHED = float("inf")


class CheapestFlow:
    """A flow network; arcs have capacities and costs, which may be negative; arc e ^ 1 reverses arc e."""

    def __init__(self, nodes: int) -> None:
        self._from: list[list[int]] = [[] for _ in range(nodes)]
        self._head: list[int] = []
        self._room: list[int] = []
        self._cost: list[int] = []

    def add(self, tail: int, head: int, capacity: int, cost: int) -> int:
        """Add an arc; returns its number."""
        arc = len(self._head)
        for end, start, room, price in ((head, tail, capacity, cost), (tail, head, 0, -cost)):
            self._from[start].append(len(self._head))
            self._head.append(end)
            self._room.append(room)
            self._cost.append(price)
        return arc

    def flow(self, arc: int) -> int:
        """The flow on an arc."""
        return self._room[arc ^ 1]

    def run(self, source: int, sink: int, amount: int, distances: Sequence[int]) -> None:
        """Send up to `amount` from source to sink, as long as a path has a negative cost.

        `distances` are the shortest distances of all nodes from the source in the empty network.

        Law: after each path, the flow is the cheapest of its amount; the costs of the paths grow.
        """
        potential = list(distances)
        via = self._paths(source, sink, potential)
        while amount and via is not None and potential[sink] < potential[source]:
            amount -= self._push(source, sink, amount, via)
            via = self._paths(source, sink, potential)

    def _paths(self, source: int, sink: int, potential: list[int]) -> dict[int, int] | None:
        """Dijkstra over reduced costs: the last arc of a shortest path to each node; adjusts potentials.

        Law: the reduced cost of an arc with residual capacity, its cost plus the potential of its tail less
        that of its head, is never negative.
        """
        distance: dict[int, int] = {source: 0}
        via: dict[int, int] = {}
        done: set[int] = set()
        heap = [(0, source)]
        head, room, cost = self._head, self._room, self._cost
        while heap:
            far, node = heappop(heap)
            if node in done:
                continue
            done.add(node)
            if node == sink:
                break
            base = far + potential[node]
            for arc in self._from[node]:
                if room[arc]:
                    other = head[arc]
                    reach = base + cost[arc] - potential[other]
                    if reach < distance.get(other, _UNREACHED):
                        distance[other] = reach
                        via[other] = arc
                        heappush(heap, (reach, other))
        else:
            return None
        limit = distance[sink]
        for node in range(len(potential)):
            potential[node] += limit
        for node in done:
            potential[node] += distance[node] - limit
        return via

    def _push(self, source: int, sink: int, amount: int, via: dict[int, int]) -> int:
        """Send as much as the path has residual capacity for; returns how much."""
        path = []
        node = sink
        while node != source:
            path.append(via[node])
            node = self._head[via[node] ^ 1]
        pushed = min(amount, *(self._room[arc] for arc in path))
        for arc in path:
            self._room[arc] -= pushed
            self._room[arc ^ 1] += pushed
        return pushed
