"""Rooted trees over the expanded schema, many of one size as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray


@dataclass(frozen=True)
class NetworkTrees:
    """Trees of m nodes each, a tree a row, its nodes in the order in which they were added.

    That order is pre-order: a node is added as the rightmost child of a node on the rightmost path. Of each
    node there is its node of the expanded schema, the position of its parent (-1 for the root), and the
    condition of the edge to it.

        S{1} --- T{} --- V{2}        nodes       S{1}  T{}  V{2}  T{1}  U{3}
          \\                          parents      -1    0     1     0     3
           T{1} --- U{3}             conditions   -1    0     2     0     1
    """

    nodes: IntArray
    parents: IntArray
    conditions: IntArray

    @classmethod
    def roots(cls, nodes: IntArray) -> NetworkTrees:
        """Trees of one node each."""
        none = np.full((len(nodes), 1), -1)
        return cls(nodes.reshape(-1, 1), none, none)

    @classmethod
    def joined(cls, parts: Iterable[NetworkTrees]) -> NetworkTrees:
        """Trees of one size, one after the other."""
        columns = zip(*((one.nodes, one.parents, one.conditions) for one in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def size(self) -> int:
        """How many nodes each tree has."""
        return int(self.nodes.shape[1])

    def rows(self, chosen: IntArray | BoolArray) -> NetworkTrees:
        """Some of the trees."""
        return NetworkTrees(self.nodes[chosen], self.parents[chosen], self.conditions[chosen])

    def add(self, at: IntArray, condition: IntArray, node: IntArray) -> NetworkTrees:
        """Every tree with one node more, the rightmost child of position `at`."""
        added = ((self.nodes, node), (self.parents, at), (self.conditions, condition))
        return NetworkTrees(*(np.column_stack(both) for both in added))

    def on_path(self) -> BoolArray:
        """Which positions are on the rightmost path, where alone a node may be added."""
        path = np.zeros(self.nodes.shape, bool)
        rows = np.arange(len(self))
        at = np.full(len(self), self.size - 1)
        while len(rows):
            path[rows, at] = True
            at = self.parents[rows, at]
            rows, at = rows[at >= 0], at[at >= 0]
        return path

    def children(self) -> IntArray:
        """How many children each position has."""
        counts = np.zeros(self.nodes.shape, np.int64)
        rows = np.arange(len(self))
        for position in range(1, self.size):
            counts[rows, self.parents[:, position]] += 1
        return counts

    def depths(self) -> IntArray:
        """How far each position is from the root."""
        depths = np.zeros(self.nodes.shape, np.int64)
        rows = np.arange(len(self))
        for position in range(1, self.size):
            depths[:, position] = depths[rows, self.parents[:, position]] + 1
        return depths
