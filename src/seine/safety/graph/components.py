"""Strongly connected components of a directed graph, by Tarjan's algorithm without recursion."""

from __future__ import annotations

from collections.abc import Sequence


def components(edges: Sequence[Sequence[int]]) -> tuple[list[int], int]:
    """The component of each node, and how many there are.

    `edges` has the successors of each node. Components are numbered so that an edge between two of
    them leads to the smaller number. The work is linear in nodes and edges.

    >>> components([[1], [0, 2], [], [2]])
    ([1, 1, 0, 2], 3)
    """
    count = len(edges)
    order = [-1] * count  # when a node was reached
    low = [0] * count
    component = [-1] * count
    stack: list[int] = []
    reached = count_found = 0
    for root in range(count):
        if order[root] >= 0:
            continue
        path = [(root, 0)]
        while path:
            node, place = path.pop()
            if place == 0:
                order[node] = low[node] = reached
                reached += 1
                stack.append(node)
            following = edges[node]
            if place:
                low[node] = min(low[node], low[following[place - 1]])
            while place < len(following):
                after = following[place]
                place += 1
                if order[after] < 0:
                    path += [(node, place), (after, 0)]
                    break
                if component[after] < 0:
                    low[node] = min(low[node], order[after])
            else:
                if low[node] == order[node]:
                    while True:
                        member = stack.pop()
                        component[member] = count_found
                        if member == node:
                            break
                    count_found += 1
    return component, count_found
