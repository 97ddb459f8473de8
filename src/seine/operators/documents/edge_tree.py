"""A prefix tree of sets of edges: which sets, of very many, lie within the edges that hold for a pair.

An edge is an equality of two path patterns, one of each document. Queries that ask for the same edges are one
*class*, a set of edges. Edges are numbered by rank; a class is its edges in ascending order, so classes that
begin alike share the beginning of their way:

    {1}, {1, 4}, {1, 4, 7}, {3, 4}          root ─1─> A ─4─> B ─7─> C       A, B, C, E end a class
                                              └──3─> D ─4─> E

Law: for a pair of documents with the edges H, `within` gives every class that is a subset of H, once, unless
no query of the class takes pairs so far apart in time. A pair is looked at only below first edges that it
has: the cost is that of the edges that hold, not of the classes.

Cites: MMQJP 4.3 (R_T)
Differs: the classes of all templates are one tree; a class is a row, whichever its template.
"""

from __future__ import annotations

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.state.work_budget import spend_candidates

ROOT = 0


class EdgeTree:
    """The classes as one sorted array of transitions (tree node, edge) -> tree node."""

    def __init__(self, rows: IntArray, edges: int, low: IntArray, high: IntArray) -> None:
        """Class i has the edges `rows[i]`, ascending, below `edges`, then -1; it takes pairs that are low[i]
        to high[i] apart in time."""
        self.width = rows.shape[1]
        order = np.lexsort(rows.T[::-1]) if self.width else np.zeros(0, np.int64)
        self._base = max(edges, 1)
        self._grow(rows[order], order, low, high)

    def _grow(self, rows: IntArray, order: IntArray, low: IntArray, high: IntArray) -> None:
        """Number the distinct beginnings of the sorted rows, level by level."""
        codes, children, ends = [], [], []
        places = np.zeros(len(rows), np.int64)  # the tree node that each row has come to
        differs = np.zeros(len(rows), bool)
        count = 1
        self._low, self._high = [np.array([low.min(initial=0)])], [np.array([high.max(initial=0)])]
        for level in range(self.width):
            alive = np.flatnonzero(rows[:, level] >= 0)
            if len(rows):
                differs[0] = True
                differs[1:] |= rows[1:, level] != rows[:-1, level]
            new = differs[alive]
            numbers = count + np.cumsum(new) - 1
            codes.append(places[alive[new]] * self._base + rows[alive[new], level])
            children.append(numbers[new])
            places[alive] = numbers
            last = alive[rows[alive, level + 1] < 0] if level + 1 < self.width else alive
            ends.append(np.stack([places[last], order[last]]))
            self._widen(numbers - count, int(new.sum()), low[order[alive]], high[order[alive]])
            count += int(new.sum())
        self._finish(codes, children, ends, count)

    def _widen(self, local: IntArray, count: int, low: IntArray, high: IntArray) -> None:
        """The weakest bounds of all classes at or below each tree node of a level."""
        lows, highs = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
        np.minimum.at(lows, local, low)
        np.maximum.at(highs, local, high)
        self._low.append(lows)
        self._high.append(highs)

    def _finish(self, codes: list[IntArray], children: list[IntArray], ends: list[IntArray], n: int) -> None:
        whole = np.concatenate(codes) if codes else np.zeros(0, np.int64)
        by_code = np.argsort(whole)
        self._codes = whole[by_code]
        self._children = (np.concatenate(children) if children else np.zeros(0, np.int64))[by_code]
        self._class = np.full(n, -1)
        for at, number in ends:
            self._class[at] = number
        self._inner = np.zeros(n, bool)
        self._inner[self._codes // self._base] = True
        self.lows, self.highs = np.concatenate(self._low), np.concatenate(self._high)

    @property
    def first_edges(self) -> tuple[IntArray, IntArray]:
        """The edges with which classes begin, ascending, and the tree node to which each leads."""
        first = np.flatnonzero(self._codes < self._base)
        return self._codes[first], self._children[first]

    def ending(self, nodes: IntArray) -> IntArray:
        """The class that ends at each tree node; -1 if none does."""
        return self._class[nodes]

    def leads_on(self, nodes: IntArray) -> BoolArray:
        """Whether there is anything below each tree node."""
        return self._inner[nodes]

    def within(self, firsts: IntArray, edges: IntArray, apart: IntArray) -> tuple[IntArray, IntArray]:
        """Pairs (pair, class): pair i has `edges[firsts[i]:firsts[i + 1]]` and is `apart[i]` in time."""
        return self.below(np.full(len(apart), ROOT), firsts[:-1], firsts[1:], edges, apart)

    def below(
        self, nodes: IntArray, firsts: IntArray, ends: IntArray, edges: IntArray, apart: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Pairs (pair, class) below the tree node of each pair, which has `edges[firsts[i]:ends[i]]`."""
        out_pairs, out_classes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        pairs, counts = np.arange(len(nodes)), ends - firsts
        while len(pairs):
            pairs, nodes = self._down(pairs, nodes, firsts, counts, edges)
            near = (self.lows[nodes] <= apart[pairs]) & (apart[pairs] <= self.highs[nodes])
            pairs, nodes = pairs[near], nodes[near]
            ended = np.flatnonzero(self._class[nodes] >= 0)
            out_pairs.append(pairs[ended])
            out_classes.append(self._class[nodes[ended]])
            inner = self._inner[nodes]
            pairs, nodes = pairs[inner], nodes[inner]
        return np.concatenate(out_pairs), np.concatenate(out_classes)

    def _down(
        self, pairs: IntArray, nodes: IntArray, firsts: IntArray, sizes: IntArray, edges: IntArray
    ) -> tuple[IntArray, IntArray]:
        """One level down from each place, along every edge of its pair that leads on."""
        counts = sizes[pairs]
        spend_candidates(int(counts.sum()))
        at = np.repeat(np.arange(len(pairs)), counts)
        within = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
        codes = nodes[at] * self._base + edges[firsts[pairs[at]] + within]
        places = np.searchsorted(self._codes, codes)
        places[places == len(self._codes)] = 0
        hit = np.flatnonzero(self._codes[places] == codes) if len(self._codes) else np.zeros(0, np.int64)
        return pairs[at[hit]], self._children[places[hit]]
