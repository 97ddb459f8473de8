"""Offline caching with gains, solved as a minimum-cost flow: which tuples a window holds, and until when.

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
from heapq import heappop, heappush


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
