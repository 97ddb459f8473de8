"""The classes of a document join, compiled from its parameter table: an edge tree for each orientation.

A row of the table is (class, orientation, edges, low, high): a set of edges of a left pattern and a right
one, "3:7 5:9", for queries that take pairs with low <= right time - left time <= high. The *orientation*
says which port has the left documents: 0, the first; 1, the second.

    S//a[.//p->x][.//q->y] FOLLOWED BY{x=u AND y=v, 5} S//b[.//p->u][.//q->v]      (17, 0, "3:7 5:9", 1, 8)

Edges are numbered by rank, the rarest first, so that a pair is formed by the rarest edge of each class
(`edge_frequency.py`). The order changes no answer, only how many pairs are looked at. Bounds are rounded
outwards to powers of two, so queries that differ in T share rows: a deliver asks exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from seine.algebra.arrays import IntArray
from seine.operators.documents.edge_tree import EdgeTree

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
