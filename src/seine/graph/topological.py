"""The order of nodes in which inputs come before what reads them."""

from __future__ import annotations

from seine.graph.node import Node


def topological(nodes: dict[int, Node]) -> list[int]:
    """The ids of nodes, inputs before what reads them and else ascending."""
    order: dict[int, None] = {}
    for start in sorted(nodes):
        waiting = [start]
        while waiting:
            missing = [i for i in nodes[waiting[-1]].inputs if i not in order]
            if missing:
                waiting += reversed(missing)
            else:
                order[waiting.pop()] = None
    return list(order)
