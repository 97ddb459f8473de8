"""The classes of a document join, compiled from its parameter table: an edge tree for each orientation.

A row of the table is (class, orientation, edges, low, high): a set of edges of a left pattern and a right
one, "3:7 5:9", for queries that take pairs with low <= right time - left time <= high. The *orientation*
says which port has the left documents: 0, the first; 1, the second.

    S//a[.//p->x][.//q->y] FOLLOWED BY{x=u AND y=v, 5} S//b[.//p->u][.//q->v]      (17, 0, "3:7 5:9", 1, 8)

Bounds are rounded outwards to powers of two, so queries that differ in T share rows: a deliver asks exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.documents.edge_tree import EdgeTree

PATTERN_BITS = 31  # a pattern's number is below 2**31
NO_TIME_BOUND = 2**62  # stands for no bound


class Orientation(NamedTuple):
    """Which port has left documents and which has right ones, and the classes that are joined so."""

    left: int
    right: int
    classes: JoinClasses


class JoinClasses:
    """Distinct classes with the weakest bounds of each; edges are numbered by rank."""

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
        parsed = [[edge_code(edge) for edge in text.split()] for text in sets]
        self.codes = np.unique(np.array([code for one in parsed for code in one], np.int64))
        rank = {code: i for i, code in enumerate(self.codes.tolist())}
        self.tags = np.array(tags, np.int64)
        bounds = np.array(low, np.int64), np.array(high, np.int64)
        self.tree = EdgeTree([[rank[code] for code in one] for one in parsed], len(rank), *bounds)
        self._reach(parsed, *bounds)

    def _reach(self, parsed: list[list[int]], low: IntArray, high: IntArray) -> None:
        """For each left pattern how much later a partner may be, for each right one how much earlier."""
        owner = np.repeat(np.arange(len(parsed)), [len(one) for one in parsed])
        codes = np.array([code for one in parsed for code in one], np.int64)
        self.left_patterns, self.left_reach = _greatest(codes >> PATTERN_BITS, high[owner])
        self.right_patterns, self.right_reach = _greatest(codes & ((1 << PATTERN_BITS) - 1), -low[owner])

    @cached_property
    def first_edges(self) -> tuple[BoolArray, IntArray, IntArray]:
        """Of each edge whether a class begins with it, and the weakest bounds of such classes."""
        edges, low, high = self.tree.first_edges
        first = np.zeros(len(self.codes), bool)
        lows, highs = np.zeros(len(self.codes), np.int64), np.zeros(len(self.codes), np.int64)
        first[edges], lows[edges], highs[edges] = True, low, high
        return first, lows, highs

    def ranks(self, left: IntArray, right: IntArray) -> IntArray:
        """The edge of each pair of patterns; -1 if no class has it."""
        return _places(self.codes, (left << PATTERN_BITS) | right)


def edge_code(edge: str) -> int:
    """An edge as one number.

    >>> edge_code("1:2") == (1 << 31) + 2
    True
    """
    left, right = edge.split(":")
    return (int(left) << PATTERN_BITS) | int(right)


def reach_of(patterns: IntArray, known: IntArray, reach: IntArray) -> tuple[IntArray, IntArray]:
    """The places of patterns that are known, and the reach of each of these."""
    places = _places(known, patterns)
    kept = np.flatnonzero(places >= 0)
    return kept, reach[places[kept]]


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
