"""Which items of a block have a state that something frees.

Cites: SAFETY 4.1 (Thm 1), SAFETY 4.2 (Thm 3)
"""

from __future__ import annotations

from seine.safety.closure import closure, finished
from seine.safety.graph import Graph


def purgeable(graph: Graph) -> list[bool]:
    """For each item whether its rows are finished some day, each after finitely many promises."""
    return [_frees(graph, number) for number in range(len(graph.items))]


def _frees(graph: Graph, number: int) -> bool:
    item = graph.items[number]
    return item.expires or (not item.deletable and finished(graph, closure(graph, [number])))
