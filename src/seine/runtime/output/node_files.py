"""The nodes of an index in files, of which the first can go while others are read.

    ranges                                     nodes from 1 on
    ranges-000000000000700-000000000001200     those after node 700; their ranges begin at position 1200

A node that is gone ends at 0: before every position that anybody may ask for.

Ranges of many queries at once: nodes are read in the order of the results, those of others passed over.

    nodes    |q1 ..|q3 ....|q2 .|q1 ...|        ranges of q1, q2 after a position, as they stand in the file

Following the list of each query, as `range_chain` does, costs so much a query whether it has records or not;
this costs as much as there are nodes, of whomever. So it is for who reads more than a few queries.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import BinaryIO, NamedTuple

import numpy as np

from seine.algebra.arrays import AnyArray
from seine.runtime.output.range_chain import NODE, NODE_DTYPE, ByteRange, RangeNode

_NAME = re.compile(r"ranges(?:-(\d{15})-(\d{15}))?")
_NODES_AT_ONCE = 1 << 16
_GONE = RangeNode(0, 0, 0, 0, 0)


class NodePart(NamedTuple):
    """A file of nodes: how many come before them, where their ranges begin, and the open file.

    It is closed when nobody has it any more, which may be after it was removed.
    """

    before: int
    position: int
    path: str
    file: BinaryIO


class NodeFiles:
    """Nodes by number, read by position: any thread may, while one appends and removes."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        names = [match for name in os.listdir(folder) if (match := _NAME.fullmatch(name))]
        self._parts = tuple(self._open(*numbers) for numbers in sorted(map(_numbers, names)))

    @property
    def origin(self) -> tuple[int, int]:
        """How many nodes come before the first, and where its range begins."""
        return self._parts[0].before, self._parts[0].position

    @property
    def last_position(self) -> int:
        """Where the ranges of the last file begin."""
        return self._parts[-1].position

    def reaches_back_to(self, position: int) -> bool:
        """Whether there are nodes of all that comes after a position."""
        return bool(self._parts) and self._parts[0].position <= position

    def node(self, number: int) -> RangeNode:
        part = self._part(number)
        if part is None:
            return _GONE
        content = os.pread(part.file.fileno(), NODE.size, (number - part.before - 1) * NODE.size)
        return RangeNode._make(NODE.unpack(content))

    def range(self, number: int) -> ByteRange:
        """The range of a node: it begins where the one before it ends."""
        part = self._part(number)
        if part is None:
            return ByteRange(0, 0)
        first = number == part.before + 1
        return ByteRange(part.position if first else self.node(number - 1).end, self.node(number).end)

    def first_after(self, position: int, last: int) -> int:
        """The first node whose range ends after a position; if none up to `last` does, the one after it."""
        low, high = self.origin[0] + 1, last + 1
        while low < high:
            middle = (low + high) // 2
            if self.node(middle).end > position:
                high = middle
            else:
                low = middle + 1
        return low

    def between(self, first: int, last: int) -> Iterator[tuple[int, AnyArray]]:
        """The nodes from one number to another, some at a time, each time with where their ranges begin."""
        while first <= last and (part := self._part(first)) is not None:
            following = (one.before for one in self._parts if one.before > part.before)
            count = min(last, next(following, last), first + _NODES_AT_ONCE - 1) - first + 1
            place = (first - part.before - 1) * NODE.size
            content = os.pread(part.file.fileno(), count * NODE.size, place)
            nodes = np.frombuffer(content[: len(content) // NODE.size * NODE.size], NODE_DTYPE)
            if not len(nodes):
                return
            yield self.range(first).start, nodes
            first += len(nodes)

    def write(self, number: int, content: bytes) -> None:
        """Write nodes from a number on, over what a write that failed may have left there."""
        part = self._parts[-1]
        position = (number - part.before - 1) * NODE.size
        while content:
            written = os.pwrite(part.file.fileno(), content, position)
            content, position = content[written:], position + written

    def begin(self, before: int, position: int) -> None:
        """Go on in another file, after so many nodes and at a position."""
        self._parts = (*self._parts, self._open(before, position))

    def keep(self, count: int) -> None:
        """Cut off what follows the first nodes."""
        while len(self._parts) > 1 and self._parts[-1].before >= count:
            self._remove(self._parts[-1:])
        part = self._parts[-1]
        os.ftruncate(part.file.fileno(), (count - part.before) * NODE.size)

    def forget_before(self, position: int) -> None:
        """Remove the files all of whose ranges end at a position or before it."""
        gone = bisect_right([part.position for part in self._parts[1:]], position)
        self._remove(self._parts[:gone])

    def clear(self, position: int) -> None:
        """Begin anew, with ranges from a position on."""
        self._remove(self._parts)
        self.begin(0, position)

    def pieces(self) -> Iterator[AnyArray]:
        """All nodes, in order, up to a file that does not go on where the one before it ends."""
        count, end = self.origin
        for part, following in zip_longest(self._parts, self._parts[1:]):
            if (part.before, part.position) != (count, end):
                return
            part.file.seek(0)
            most = None if following is None else following.before - part.before
            while len(nodes := _read_nodes(part.file, most)):
                count, end = count + len(nodes), int(nodes["end"][-1])
                most = None if most is None else most - len(nodes)
                yield nodes

    def close(self) -> None:
        for part in self._parts:
            part.file.close()

    def _part(self, number: int) -> NodePart | None:
        parts = self._parts
        place = bisect_right(parts, number - 1, key=lambda part: part.before) - 1
        return None if place < 0 else parts[place]

    def _remove(self, parts: tuple[NodePart, ...]) -> None:
        self._parts = tuple(part for part in self._parts if part not in parts)
        for part in parts:
            os.unlink(part.path)

    def _open(self, before: int, position: int) -> NodePart:
        name = "ranges" if (before, position) == (0, 0) else f"ranges-{before:015d}-{position:015d}"
        path = os.path.join(self._folder, name)
        file = open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)  # noqa: SIM115
        return NodePart(before, position, path, file)


def _read_nodes(file: BinaryIO, most: int | None) -> AnyArray:
    """The next nodes of a file, at most so many."""
    content = file.read(min(_NODES_AT_ONCE, _NODES_AT_ONCE if most is None else most) * NODE.size)
    return np.frombuffer(content[: len(content) // NODE.size * NODE.size], NODE_DTYPE)


def _numbers(match: re.Match[str]) -> tuple[int, int]:
    """What the name of a file says: nodes before it, and its position."""
    return int(match[1] or 0), int(match[2] or 0)


_MOST_NODES = 1 << 20  # that one answer passes over


class OwnRange(NamedTuple):
    """A range of the results, and the query whose records are in it."""

    range: ByteRange
    query: str


class SharedPage(NamedTuple):
    """The ranges of some queries from a position up to `reach`, in order."""

    ranges: list[OwnRange]
    reach: int


def scan_ranges(
    nodes: NodeFiles, last: int, owners: Mapping[int, str], position: int, enough: int
) -> SharedPage:
    """The ranges after a position of queries, `owners` by number: so many that they have `enough` bytes.

    `last` is the number of the last node.
    """
    wanted = np.zeros(max(owners, default=0) + 1, bool)
    wanted[list(owners)] = True
    ranges: list[OwnRange] = []
    first, reach, left = nodes.first_after(position, last), position, enough
    for begin, batch in nodes.between(first, min(last, first + _MOST_NODES)):
        ends, queries = batch["end"].astype(np.int64), batch["query"].astype(np.int64)
        starts = np.concatenate([[begin], ends[:-1]])
        places = np.flatnonzero(wanted[np.minimum(queries, len(wanted) - 1)] & (queries < len(wanted)))
        sizes = np.cumsum(ends[places] - np.maximum(starts[places], position))
        count = int(np.searchsorted(sizes, left)) + 1  # the one that has enough is the last
        places = places[:count]
        kept = zip(starts[places].tolist(), ends[places].tolist(), queries[places].tolist(), strict=True)
        ranges += [OwnRange(ByteRange(start, end), owners[query]) for start, end, query in kept]
        if count <= len(sizes):
            return SharedPage(ranges, ranges[-1].range.end)
        left -= int(sizes[-1]) if len(sizes) else 0
        reach = int(ends[-1])
    return SharedPage(ranges, reach)


def cut_page(page: SharedPage, end: int) -> SharedPage:
    """A page up to a position, or less; without ranges that begin beyond where it reaches.

    >>> cut_page(SharedPage([OwnRange(ByteRange(0, 5), "q"), OwnRange(ByteRange(5, 9), "p")], 9), 4)
    SharedPage(ranges=[OwnRange(range=ByteRange(start=0, end=4), query='q')], reach=4)
    """
    reach = min(page.reach, end)
    inside = (one for one in page.ranges if one.range.start < reach)
    cut = [OwnRange(ByteRange(one.range.start, min(one.range.end, reach)), one.query) for one in inside]
    return SharedPage(cut, reach)
