"""Append-only lists of ranges, one for each query, kept in one file and read from any place on.

Every node is the range of the results file that follows the range of the node before it in the file, so only
its end is written: nodes tile the results, and which of them belong to one query is said by links. A node
links to the one before it of its query, and skips to the one whose rank has the lowest bit cleared, as a
Fenwick tree does:

    rank    1    2    3    4    5    6    7    8
    skip    0    0    2    0    4    4    6    0      0: nowhere

So what is written never changes, a node costs the same however many there are, and of n nodes one is found in
at most log(n)**2 steps, in practice far fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple

import numpy as np

from seine.algebra.arrays import AnyArray, IntArray

NODE = Struct("<QIIQQ")
NODE_DTYPE = np.dtype([("end", "<u8"), ("query", "<u4"), ("rank", "<u4"), ("before", "<u8"), ("skip", "<u8")])
NOWHERE = 0  # nodes are numbered from 1
_LEAST_GROWTH = 64  # queries


class RangeNode(NamedTuple):
    """A range that ends at `end`, the one of rank `rank` (from 1) of a query, and its links."""

    end: int
    query: int
    rank: int
    before: int
    skip: int


class ByteRange(NamedTuple):
    """Bytes [start, end) of a file."""

    start: int
    end: int


class ChainLinks:
    """Links new nodes of many queries at a time.

    Of each query it has the rank of the last node and, for each bit of that rank, the node whose rank has the
    bits down to that one: those that skipping from the last node comes to. All arrays are by query.
    """

    def __init__(self) -> None:
        self._rank = np.zeros(0, np.int64)
        self._path = np.zeros((0, 1), np.int64)

    def make_room(self, queries: int) -> None:
        """Let there be so many queries, or more."""
        more = queries - len(self._rank)
        if more > 0:
            more = max(more, len(self._rank) // 2, _LEAST_GROWTH)
            self._rank = np.pad(self._rank, (0, more))
            self._path = np.pad(self._path, ((0, more), (0, 0)))

    def note(self, queries: IntArray, ranks: IntArray, numbers: IntArray) -> None:
        """Nodes that were written, in the order of their numbers."""
        bits = self._bits(ranks)
        self._rank[queries] = ranks  # the last one of a query stays
        self._path[queries, bits] = numbers

    def link(self, queries: IntArray, numbers: IntArray) -> AnyArray:
        """New nodes, without ends, by the numbers that they get; a query may have several."""
        nodes = np.zeros(len(queries), NODE_DTYPE)
        nodes["query"] = queries
        for places in _rounds(queries):
            self._link(nodes, queries[places], numbers[places], places)
        return nodes

    def _link(self, nodes: AnyArray, queries: IntArray, numbers: IntArray, places: IntArray) -> None:
        """The same for queries that are all different."""
        old = self._rank[queries]
        ranks = old + 1
        nodes["rank"][places] = ranks
        nodes["before"][places] = self._at(queries, old)
        nodes["skip"][places] = self._at(queries, ranks & (ranks - 1))
        self.note(queries, ranks, numbers)

    def _at(self, queries: IntArray, ranks: IntArray) -> IntArray:
        """The nodes of ranks that skipping from the last nodes comes to; rank 0 is nowhere.

        So is a node that was gone when the index was opened.
        """
        bits = self._bits(ranks)  # it may make room in the path
        return np.where(ranks == 0, NOWHERE, self._path[queries, bits])

    def _bits(self, ranks: IntArray) -> IntArray:
        """The number of the lowest bit of each rank; of 0, any."""
        bits: IntArray = np.log2(np.maximum(ranks & -ranks, 1)).astype(np.int64)
        more = int(bits.max(initial=0)) + 1 - self._path.shape[1]
        if more > 0:
            self._path = np.pad(self._path, ((0, 0), (0, more)))
        return bits


def _rounds(queries: IntArray) -> Iterator[IntArray]:
    """Places of an array, the first occurrence of each query first, then the second ones, and so on.

    >>> [places.tolist() for places in _rounds(np.array([7, 5, 7, 7, 5]))]
    [[0, 1], [2, 4], [3]]
    """
    order = np.argsort(queries, kind="stable")
    ordered = queries[order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    if len(begins) == len(queries):
        yield np.arange(len(queries))
        return
    counts = np.diff(np.append(begins, len(queries)))
    earlier = np.empty(len(queries), np.int64)
    earlier[order] = np.arange(len(queries)) - np.repeat(begins, counts)
    for occurrence in range(int(counts.max(initial=0))):
        yield np.flatnonzero(earlier == occurrence)


def first_after(head: int, position: int, node: Callable[[int], RangeNode]) -> int:
    """The first node of a query that ends after a position; its last one, `head`, does."""
    current = node(head)
    while current.before != NOWHERE:
        for target in (current.skip, current.before):
            if target != NOWHERE and (candidate := node(target)).end > position:
                head, current = target, candidate
                break
        else:
            return head
    return head


def backwards(head: int, last: int, count: int, node: Callable[[int], RangeNode]) -> list[int]:
    """Nodes of a query of `count` consecutive ranks, the largest of which is `last`, in order."""
    current = node(head)
    while current.rank > last:
        target = current.skip if current.rank & (current.rank - 1) >= last else current.before
        head, current = target, node(target)
    numbers = []
    for _ in range(count):
        numbers.append(head)
        head = node(head).before
    return numbers[::-1]
