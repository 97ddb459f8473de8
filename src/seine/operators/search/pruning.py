"""Which partial trees may still become whole, by how far their tuples are from missing terms.

A term that is missing is added below the rightmost path, so it costs at least its distance from the nearest
node there. An open leaf without a term of its own, and a root with one child and none of its own, each need a
branch with a missing term; the two branches have no tuple in common.

Law: a tree that is given up cannot become a result with at most MAX tuples.

Cites: SKWS 3.2 (pruning)
Differs: by distances between tuples that are there, not by the number of nodes of a network alone.
"""

from __future__ import annotations

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.search.distances import UNREACHED, Distances
from seine.operators.search.growing_trees import TreeRows
from seine.operators.search.searches import Searches


class Pruning:
    """The test of partial trees by distances."""

    def __init__(self, searches: Searches, distances: Distances) -> None:
        self._searches, self._distances = searches, distances

    def keep(self, trees: TreeRows, seen: IntArray, owns: BoolArray) -> BoolArray:
        """Whether trees may become results; `seen` are their terms, `owns` says which nodes own one."""
        count, last = len(trees.query), trees.size - 1
        needed = np.zeros(count, np.int64)
        from_root, from_last = np.full(count, UNREACHED), np.full(count, UNREACHED)
        for place in range(self._searches.words.shape[1]):
            missing = (place < self._searches.size[trees.query]) & (seen >> place & 1 == 0)
            rows = np.flatnonzero(missing)
            if len(rows):
                distance = self._from_path(trees, rows, place)
                needed[rows] = np.maximum(needed[rows], distance.min(1))
                from_root[rows] = np.minimum(from_root[rows], distance[:, 0])
                from_last[rows] = np.minimum(from_last[rows], distance[:, last])
        if last:
            bare_root = ~owns[:, 0] & (trees.children[:, 0] <= 1)
            branches = np.where(bare_root, from_root, 0) + np.where(owns[:, last], 0, from_last)
            needed = np.maximum(needed, branches)
        kept: BoolArray = needed <= self._searches.max_tuples[trees.query] - trees.size
        return kept

    def _from_path(self, trees: TreeRows, rows: IntArray, place: int) -> IntArray:
        """How far nodes of the rightmost path are from a query's term; UNREACHED off the path."""
        distance = np.full((len(rows), trees.size), UNREACHED)
        terms = self._searches.words[trees.query[rows], place]
        for node in range(trees.size):
            on_path = np.flatnonzero(trees.path[rows, node])
            chosen = rows[on_path]
            distance[on_path, node] = self._distances.of(
                trees.node[chosen, node], terms[on_path], trees.query[chosen]
            )
        return distance
