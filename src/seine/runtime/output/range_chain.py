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

import os
from collections.abc import Callable
from struct import Struct
from typing import NamedTuple

import numpy as np

NODE = Struct("<QIIQQ")
NODE_DTYPE = np.dtype([("end", "<u8"), ("query", "<u4"), ("rank", "<u4"), ("before", "<u8"), ("skip", "<u8")])
NOWHERE = 0  # nodes are numbered from 1


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


class NodeFile:
    """Nodes by number, read by position: any thread may, while one appends."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def node(self, number: int) -> RangeNode:
        return RangeNode._make(NODE.unpack(os.pread(self._file, NODE.size, (number - 1) * NODE.size)))

    def range(self, number: int) -> ByteRange:
        """The range of a node: it begins where the one before it in the file ends."""
        start = 0 if number == 1 else self.node(number - 1).end
        return ByteRange(start, self.node(number).end)

    def write(self, number: int, content: bytes) -> None:
        """Write nodes from a number on, over what a write that failed may have left there."""
        position = (number - 1) * NODE.size
        while content:
            written = os.pwrite(self._file, content, position)
            content, position = content[written:], position + written

    def keep(self, count: int) -> None:
        """Cut off what follows the first nodes."""
        os.ftruncate(self._file, count * NODE.size)

    def close(self) -> None:
        os.close(self._file)


def skips(head: int, node: Callable[[int], RangeNode]) -> list[int]:
    """The last node of a query and those that skipping from it comes to, the first one first."""
    path = []
    while head != NOWHERE:
        path.append(head)
        head = node(head).skip
    return path[::-1]


def link(path: list[int], rank: int, number: int) -> tuple[int, int]:
    """Append a node of a rank to the path of skips of its query: the nodes before it and to skip to.

    >>> path: list[int] = []
    >>> [link(path, rank, number=10 * rank) for rank in range(1, 9)]
    [(0, 0), (10, 0), (20, 20), (30, 0), (40, 40), (50, 40), (60, 60), (70, 0)]
    >>> path
    [80]
    """
    before = path[-1] if path else NOWHERE
    carried = (rank & -rank).bit_length() - 1  # ones at the end of the rank before this one
    if carried:
        del path[-carried:]
    skip = path[-1] if path else NOWHERE
    path.append(number)
    return before, skip


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
