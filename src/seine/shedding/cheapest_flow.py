"""Minimum-cost flow by successive shortest paths with potentials, over integers: exact.

>>> flow = CheapestFlow(3)
>>> arcs = [flow.add(0, 1, 1, -5), flow.add(1, 2, 2, -1), flow.add(0, 1, 2, 0)]
>>> flow.run(0, 2, 2, [0, -5, -6])
>>> [flow.flow(arc) for arc in arcs]
[1, 2, 1]
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

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
