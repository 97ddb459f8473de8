"""The classes of a document join, compiled from its parameter table: an edge tree for each orientation.

A row of the table is (class, orientation, edges, low, high): a set of edges of a left pattern and a right
one, "3:7 5:9", for queries that take pairs with low <= right time - left time <= high. The *orientation*
says which port has the left documents: 0, the first; 1, the second.

    S//a[.//p->x][.//q->y] FOLLOWED BY{x=u AND y=v, 5} S//b[.//p->u][.//q->v]      (17, 0, "3:7 5:9", 1, 8)

Edges are numbered by rank, the rarest first, so that a pair is formed by the rarest edge of each class
(`pair_candidates.py`). The order changes no answer, only how many pairs are looked at. Bounds are rounded
outwards to powers of two, so queries that differ in T share rows: a deliver asks exactly.

A prefix tree of sets of edges: which sets, of very many, lie within the edges that hold for a pair.

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

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.state.work_budget import spend_candidates

PATTERN_BITS = 31  # a pattern's number is below 2**31
NO_TIME_BOUND = 2**62  # stands for no bound
_MOST_ORDERS_KEPT = 4  # trees of one node; orders change rarely
_PADDING = np.iinfo(np.int64).max


class Orientation(NamedTuple):
    """Which port has left documents and which has right ones, and the classes that are joined so."""

    left: int
    right: int
    classes: JoinClasses


class JoinClasses:
    """Distinct classes with the weakest bounds of each; an edge is a place among `codes`, ascending."""

    def __init__(self, rows: Iterable[Sequence[Any]]) -> None:
        """Each row is (class, edges as text, low, high)."""
        sets: dict[str, int] = {}
        tags: list[int] = []
        low: list[int] = []
        high: list[int] = []
        for tag, edges, least, most in rows:
            place = sets.setdefault(edges, len(sets))
            if place == len(tags):
                tags.append(tag)
                low.append(least)
                high.append(most)
            else:
                low[place], high[place] = min(low[place], least), max(high[place], most)
        self.tags, self.low, self.high = (np.array(one, np.int64) for one in (tags, low, high))
        self._take_edges([[edge_code(edge) for edge in text.split()] for text in sets])
        self._orders: dict[bytes, RankedClasses] = {}

    def _take_edges(self, parsed: list[list[int]]) -> None:
        """Number the edges; for each pattern note how far in time a partner may be: later, or earlier."""
        counts = np.array([len(one) for one in parsed], np.int64)
        owner = np.repeat(np.arange(len(parsed)), counts)
        codes = np.array([code for one in parsed for code in one], np.int64)
        self.codes, places = np.unique(codes, return_inverse=True)
        self.edges = np.full((len(parsed), int(counts.max(initial=0))), -1, np.int64)
        self.edges[owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)] = places
        self.left_patterns, self.left_reach = _greatest(codes >> PATTERN_BITS, self.high[owner])
        self.right_patterns, self.right_reach = _greatest(codes & ((1 << PATTERN_BITS) - 1), -self.low[owner])

    def places(self, left: IntArray, right: IntArray) -> IntArray:
        """The edge of each pair of patterns; -1 if no class has it."""
        return _places(self.codes, (left << PATTERN_BITS) | right)

    def ranked(self, levels: IntArray) -> RankedClasses:
        """The classes with their edges in an order: those of lower levels first."""
        key = levels.tobytes()
        if key not in self._orders:
            if len(self._orders) >= _MOST_ORDERS_KEPT:
                self._orders.clear()
            self._orders[key] = RankedClasses(self, levels)
        return self._orders[key]


class RankedClasses:
    """The edge tree of classes for one order of edges."""

    def __init__(self, classes: JoinClasses, levels: IntArray) -> None:
        """`levels` has how frequent each edge is, about."""
        self.classes = classes
        order = np.lexsort((classes.codes, levels))
        self._rank = np.empty(len(order) + 1, np.int64)
        self._rank[order] = np.arange(len(order))
        self._rank[-1] = -1
        self._codes = classes.codes[order]
        rows = np.where(classes.edges < 0, _PADDING, self._rank[classes.edges])
        rows.sort(axis=1)
        rows[rows == _PADDING] = -1
        self._begins = rows[:, 0] if rows.shape[1] else np.zeros(0, np.int64)
        self._levels = levels[order]
        self.tree = EdgeTree(rows, len(order), classes.low, classes.high)

    def ranks(self, left: IntArray, right: IntArray) -> IntArray:
        """The rank of the edge of each pair of patterns; -1 if no class has it."""
        return self._rank[self.classes.places(left, right)]

    @cached_property
    def first_nodes(self) -> IntArray:
        """The node of the tree to which each edge leads, -1 if no class begins with it."""
        edges, nodes = self.tree.first_edges
        first = np.full(len(self._codes) + 1, -1)  # the last is for no edge
        first[edges] = nodes
        return first

    def heaviest(self, matches: IntArray) -> set[int]:
        """The classes that begin with the edge of most matches so far; of equals, with the most frequent."""
        heavy = np.lexsort((self._levels, matches))[-1]
        return {*self.classes.tags[self._begins == heavy].tolist()}

    @cached_property
    def first_patterns(self) -> tuple[IntArray, IntArray]:
        """The left patterns and the right ones with which classes begin, ascending."""
        codes = self._codes[self.tree.first_edges[0]]
        return np.unique(codes >> PATTERN_BITS), np.unique(codes & ((1 << PATTERN_BITS) - 1))


def time_apart(left: IntArray, right: IntArray) -> IntArray:
    """Right times minus left ones, at most NO_TIME_BOUND either way: times may be very far apart.

    >>> time_apart(np.array([3, 2 - 2**63]), np.array([10, 2**63 - 2])).tolist() == [7, NO_TIME_BOUND]
    True
    """
    apart = right - left
    is_before = right < left
    wrapped = (apart < 0) != is_before
    if wrapped.any():
        apart = np.where(wrapped, np.where(is_before, -NO_TIME_BOUND, NO_TIME_BOUND), apart)
    bounded: IntArray = np.clip(apart, -NO_TIME_BOUND, NO_TIME_BOUND)
    return bounded


def edge_code(edge: str) -> int:
    """An edge as one number.

    >>> edge_code("1:2") == (1 << 31) + 2
    True
    """
    left, right = edge.split(":")
    return (int(left) << PATTERN_BITS) | int(right)


def known_places(patterns: IntArray, known: IntArray) -> IntArray:
    """The places of patterns that are known."""
    return np.flatnonzero(_places(known, patterns) >= 0)


def reach_of(patterns: IntArray, known: IntArray, reach: IntArray) -> IntArray:
    """How far in time a partner may be, of patterns that are all known."""
    return reach[_places(known, patterns)]


def _places(known: IntArray, values: IntArray) -> IntArray:
    """The place of each value among sorted distinct ones; -1 if it is not there."""
    if not len(known):
        return np.full(len(values), -1)
    places = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[places] == values, places, -1)


def _greatest(keys: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct keys, ascending, each with the greatest of its values."""
    known, inverse = np.unique(keys, return_inverse=True)
    most = np.full(len(known), np.iinfo(np.int64).min)
    np.maximum.at(most, inverse, values)
    return known, most


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
