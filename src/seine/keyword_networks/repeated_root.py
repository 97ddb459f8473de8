"""Networks in which the root's node comes more than once: a fourth kind of duplicate.

Cites: SKWS 3.2
"""

from __future__ import annotations

from typing import Any

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.keyword_networks.network_trees import NetworkTrees


def rooted_least(trees: NetworkTrees) -> BoolArray:
    """Which trees are rooted at the right one of the occurrences of their root's node.

    S{2} - T{1} - U{} - T{1} - V{3} grows from either T{1}, and both trees are left-heavy. That one is kept
    whose code, read from its root, is least over the occurrences.

    Differs: the paper names three kinds of duplicates and misses this one. On the schema of its Figure 2.1
    with three keywords and at most five tuples it would have 4,609 networks, of which 4,390 are distinct.
    """
    fine = np.ones(len(trees), bool)
    repeated = np.flatnonzero((trees.nodes[:, 1:] == trees.nodes[:, :1]).any(1))
    for row in repeated.tolist():
        fine[row] = _is_least(trees.nodes[row], trees.parents[row], trees.conditions[row])
    return fine


def _is_least(nodes: IntArray, parents: IntArray, conditions: IntArray) -> bool:
    edges: list[list[tuple[int, int]]] = [[] for _ in nodes]
    for child in range(1, len(nodes)):
        parent, condition = int(parents[child]), int(conditions[child])
        edges[parent].append((child, condition))
        edges[child].append((parent, condition))
    labels = nodes.tolist()
    mine = _code(labels, edges, 0, -1, -1)
    others = (_code(labels, edges, at, -1, -1) for at in range(1, len(nodes)) if labels[at] == labels[0])
    return all(mine <= other for other in others)


def _code(labels: list[int], edges: list[list[tuple[int, int]]], at: int, before: int, edge: int) -> Any:
    """The tree as seen from one position: its node, the edge that leads to it, and its children in order."""
    beyond = sorted(_code(labels, edges, child, at, by) for child, by in edges[at] if child != before)
    return (labels[at], edge, tuple(beyond))
