"""The index of the results by query: who reads one query's records reads nobody else's.

Law: the ranges of the index, one after the other, are the results from their beginning to `settled`, and a
range has records of one query only. The index is derived and never synced: what it says beyond the length in
`output.json` is cut off when it is opened, and what is missing, because of a crash or because the folder is
older than this index, is found by reading the results from where it ends.

    ranges         nodes of the queries' lists, see range_chain.py
    names.jsonl    the name of each query that had a record; a node names it by its line
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from seine.algebra.arrays import AnyArray
from seine.runtime.folder.settings import damaged
from seine.runtime.output.range_chain import (
    NODE,
    NODE_DTYPE,
    ByteRange,
    NodeFile,
    backwards,
    first_after,
    link,
    skips,
)

_NODES_AT_ONCE = 1 << 20
_FEW_RANGES, _MOST_RANGES = 8, 512  # of one answer
_LEAST_SCANNED_NOTICE = 64 << 20  # bytes; reading more to complete the index is worth a line in the log
_BEGIN = '{"query": '

_logger = logging.getLogger(__name__)


class RangePage(NamedTuple):
    """Ranges of a query from a position on; there may be more unless they are `complete`."""

    ranges: list[ByteRange]
    complete: bool


class _QueryRanges:
    """The ranges of one query: the last node and its end as readers see them, and what is not settled yet."""

    __slots__ = ("end", "head", "number", "path", "rank")

    def __init__(self, number: int, head: int = 0, end: int = 0) -> None:
        self.number, self.head, self.end = number, head, end
        self.path: list[int] | None = None if head else []  # None: to be read when a range is added
        self.rank = 0


class ResultIndex:
    """Where the records of each query are in a file of results.

    The thread that delivers micro-batches appends and settles. Any other may ask for the ranges of what is
    settled, and takes no lock for it.
    """

    def __init__(self, folder: str, results: str, length: int) -> None:
        os.makedirs(folder, exist_ok=True)
        self.results = results
        self._queries: dict[str, _QueryRanges] = {}
        self._names = _NameFile(os.path.join(folder, "names.jsonl"))
        path = os.path.join(folder, "ranges")
        self._nodes = NodeFile(path)
        self._count, self.settled = self._restore(path, length)
        if not self._fits():
            self._count, self.settled, self._queries = 0, 0, {}
            self._names = _NameFile(os.path.join(folder, "names.jsonl"), anew=True)
        self._nodes.keep(self._count)
        self._end = self.settled  # of what was appended
        self._waiting: list[tuple[int, ...]] = []
        self._changed: dict[str, _QueryRanges] = {}
        self._fresh: list[str] = []
        self.settle(length)

    def append(self, query: str, size: int) -> None:
        """The next `size` bytes of the results are records of a query."""
        self._end += size
        ranges = self._queries.get(query) or self._new(query)
        if self._waiting and self._waiting[-1][1] == ranges.number:
            self._waiting[-1] = (self._end, *self._waiting[-1][1:])
            return
        if ranges.path is None:
            ranges.path = skips(ranges.head, self._nodes.node)
            ranges.rank = self._nodes.node(ranges.head).rank
        ranges.rank += 1
        before, skip = link(ranges.path, ranges.rank, self._count + len(self._waiting) + 1)
        self._waiting.append((self._end, ranges.number, ranges.rank, before, skip))
        self._changed[query] = ranges

    def settle(self, length: int) -> None:
        """Let readers see the results up to a length; what was not appended is looked up in the file."""
        if self._end < length:
            self._scan(length)
        self._names.write(self._fresh)
        self._fresh = []
        self._nodes.write(self._count + 1, b"".join([NODE.pack(*node) for node in self._waiting]))
        first, self._count = self._count + 1, self._count + len(self._waiting)
        for ranges in self._changed.values():
            assert ranges.path is not None
            number = ranges.path[-1]
            ranges.end = self._waiting[number - first][0]
            ranges.head = number
        self._waiting, self._changed = [], {}
        self.settled = length

    def end_of(self, query: str) -> int:
        """Where the last record of a query ends; 0 if it has none."""
        ranges = self._queries.get(query)
        return ranges.end if ranges is not None else 0

    def ranges(self, query: str, position: int, enough: int) -> RangePage:
        """The first ranges of a query that end after a position: so many that they have `enough` bytes."""
        ranges = self._queries.get(query)
        head = ranges.head if ranges is not None else 0
        if not head or self._nodes.node(head).end <= position:
            return RangePage([], True)
        node = self._nodes.node
        last, first = node(head).rank, node(first_after(head, position, node)).rank
        count = _FEW_RANGES
        while True:
            count = min(count, last + 1 - first)
            numbers = backwards(head, first + count - 1, count, node)
            page = [self._nodes.range(number) for number in numbers]
            complete = first + count > last
            bytes_ = sum(end - max(start, position) for start, end in page)
            if complete or bytes_ >= enough or count >= _MOST_RANGES:
                return RangePage(page, complete)
            count *= 4

    def close(self) -> None:
        self._nodes.close()

    def _new(self, query: str) -> _QueryRanges:
        ranges = self._queries[query] = _QueryRanges(self._names.count + len(self._fresh))
        self._fresh.append(query)
        return ranges

    def _scan(self, length: int) -> None:
        """Append what the results have beyond what was appended, line by line."""
        if length - self._end > _LEAST_SCANNED_NOTICE:
            _logger.info("results are indexed by query", extra={"bytes": length - self._end})
        for query, size in _queries_of_lines(self.results, self._end, length):
            self.append(query, size)

    def _fits(self) -> bool:
        """Whether the last range is one of these results; else the index is of others."""
        if not self._count:
            return True
        start, end = self._nodes.range(self._count)
        query = self._names.names[self._nodes.node(self._count).query]
        with open(self.results, "rb") as file:
            file.seek(max(start - 1, 0))
            whole = file.read(1) == b"\n" if start else True
            line = file.readline()
            file.seek(end - 1)
            return whole and line.startswith(_prefix(query)) and file.read(1) == b"\n"

    def _restore(self, path: str, length: int) -> tuple[int, int]:
        """Read the nodes that count: how many, and where the last one ends."""
        names = self._names.names
        heads, ends = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
        count, reach = 0, 0
        for nodes in _node_pieces(path):
            good = _consistent(nodes, count, reach, len(names), length)
            kept = nodes[:good]
            heads[kept["query"]] = np.arange(count + 1, count + 1 + good)  # the last one of each stays
            ends[kept["query"]] = kept["end"]
            count, reach = count + good, int(kept["end"][-1]) if good else reach
            if good < len(nodes):
                break
        for number, name in enumerate(names):
            self._queries[name] = _QueryRanges(number, int(heads[number]), int(ends[number]))
        return count, reach


class _NameFile:
    """Names, one a line; a line is a number for ever."""

    def __init__(self, path: str, *, anew: bool = False) -> None:
        self._path = path
        content = b""
        if os.path.exists(path) and not anew:
            with open(path, "rb") as file:
                content = file.read()
        self.names, self._bytes = _names(content)
        self.count = len(self.names)

    def write(self, names: list[str]) -> None:
        if not names:
            return
        content = "".join(json.dumps(name) + "\n" for name in names).encode()
        with open(self._path, "r+b" if os.path.exists(self._path) else "wb") as file:
            file.truncate(self._bytes)
            file.seek(self._bytes)
            file.write(content)
        self._bytes += len(content)
        self.count += len(names)


def _names(content: bytes) -> tuple[list[str], int]:
    """The names of whole lines, and their bytes; a power cut may leave lines that are no names.

    >>> _names(b'"q"\\n"p')
    (['q'], 4)
    """
    names: list[str] = []
    size = 0
    for line in content.splitlines(keepends=True):
        try:
            name = json.loads(line)
        except ValueError:
            break
        if not isinstance(name, str) or not line.endswith(b"\n"):
            break
        names.append(name)
        size += len(line)
    return names, size


def _node_pieces(path: str) -> Iterator[AnyArray]:
    with open(path, "rb") as file:
        while content := file.read(_NODES_AT_ONCE * NODE.size):
            yield np.frombuffer(content[: len(content) // NODE.size * NODE.size], NODE_DTYPE)


def _consistent(nodes: AnyArray, before: int, reach: int, names: int, length: int) -> int:
    """How many of these nodes, which come after `before` others, can be what was written of a length."""
    ends = nodes["end"].astype(np.int64)
    numbers = np.arange(before + 1, before + 1 + len(nodes))
    good = ends > np.concatenate([[reach], ends[:-1]])
    good &= (ends <= length) & (nodes["query"] < names)
    good &= (nodes["before"] < numbers) & (nodes["skip"] <= nodes["before"])
    good &= (nodes["rank"] == 1) == (nodes["before"] == 0)
    wrong = np.flatnonzero(~good)
    return int(wrong[0]) if len(wrong) else len(nodes)


def _queries_of_lines(path: str, start: int, end: int) -> Iterator[tuple[str, int]]:
    """The query and the length of each line among the bytes [start, end) of results."""
    decoder = json.JSONDecoder()
    prefix, query = b"\n", ""
    with open(path, "rb") as file:
        file.seek(start)
        while start < end:
            line = file.readline()
            if not line.startswith(prefix):
                query, prefix = _query_of(path, line, decoder)
            yield query, len(line)
            start += len(line)


def _prefix(query: str) -> bytes:
    """What the records of a query begin with."""
    return f"{_BEGIN}{json.dumps(query, ensure_ascii=False)}, ".encode()


def _query_of(path: str, line: bytes, decoder: json.JSONDecoder) -> tuple[str, bytes]:
    """The query of a record, and what other records of it begin with."""
    try:
        text = line.decode()
        query = str(decoder.raw_decode(text, len(_BEGIN))[0])
        return query, _prefix(query)
    except ValueError:
        raise damaged(path) from None
