"""The index of the results by query: who reads one query's records reads nobody else's.

Law: the ranges of the index, one after the other, are the results that are kept, from the first to `settled`,
and a range has records of one query only. The index is derived and never synced: what it says beyond the
length that counts is cut off when it is opened, and what is missing, because of a crash or because the
folder is older than this index, is found by reading the results from where it ends.

    ranges*        nodes of the queries' lists, see range_chain.py and node_files.py
    names.jsonl    the name of each query that had a record; a node names it by its line
"""

from __future__ import annotations

import json
import logging
import os
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from seine.algebra.arrays import AnyArray
from seine.runtime.folder.settings import damaged
from seine.runtime.output.log_files import LogFiles, ResultFile
from seine.runtime.output.node_files import NodeFiles, OwnRange, SharedPage, cut_page, scan_ranges
from seine.runtime.output.range_chain import (
    NOWHERE,
    ByteRange,
    ChainLinks,
    backwards,
    first_after,
)
from seine.runtime.output.task_report import QueryRanges

_FEW_RANGES, _MOST_RANGES = 8, 512  # of one answer
_FEW_QUERIES = 8  # whose lists are followed one by one
_LEAST_SCANNED_NOTICE = 64 << 20  # bytes; reading more to complete the index is worth a line in the log
_MOST_ENDS = 1 << 16  # of micro-batches
_LINES_AT_ONCE = 1 << 16
_BEGIN = '{"query": '

_logger = logging.getLogger(__name__)


class RangePage(NamedTuple):
    """Ranges of a query from a position on; there may be more unless they are `complete`."""

    ranges: list[ByteRange]
    complete: bool


class ResultIndex:
    """Where the records of each query are in a file of results.

    The thread that delivers micro-batches appends and settles. Any other may ask for the ranges of what is
    settled, and takes no lock for it.
    """

    def __init__(self, folder: str, results: LogFiles, length: int) -> None:
        os.makedirs(folder, exist_ok=True)
        self.results = results
        self._names = _NameFile(os.path.join(folder, "names.jsonl"))
        self._nodes = NodeFiles(folder)
        if not self._nodes.reaches_back_to(results.first):
            self._nodes.clear(results.first)
        self._nodes.forget_before(results.first)
        self._forget()
        self._restore(length)
        if not self._fits():
            self._begin_anew()
        self._nodes.keep(self._count)
        self._end = self.settled  # of what was appended
        self._batch_times: list[float] = []
        self._batch_ends: list[int] = []  # appended to, or another list: readers take no lock
        self.settle(length)

    def _begin_anew(self) -> None:
        """Begin with the first results that are kept."""
        self._nodes.clear(self.results.first)
        self._names.clear()
        self._forget()

    def _forget(self) -> None:
        """Begin with no query and no range."""
        self._numbers: dict[str, int] = {}
        self._fresh: list[str] = []
        self._links = ChainLinks()
        self._heads = self._ends = np.zeros(0, np.int64)  # by query: its last node, and where that ends
        self._count, self.settled = self._nodes.origin
        self._end = self.settled
        self._waiting: list[AnyArray] = []  # nodes

    def append(self, names: Sequence[str], ranges: QueryRanges) -> None:
        """The next bytes of the results are records of these queries."""
        known = np.fromiter((self._number(name) for name in names), np.int64, len(names))
        queries, ends = known[ranges.queries], self._end + np.cumsum(ranges.sizes)
        if not len(queries):
            return
        last = np.append(queries[1:] != queries[:-1], True)  # of several that touch
        queries, ends = queries[last], ends[last]
        self._end = int(ends[-1])
        if self._waiting and self._waiting[-1]["query"][-1] == queries[0]:
            self._waiting[-1]["end"][-1] = ends[0]
            queries, ends = queries[1:], ends[1:]
        if len(queries):
            first = self._count + 1 + sum(map(len, self._waiting))
            nodes = self._links.link(queries, np.arange(first, first + len(queries)))
            nodes["end"] = ends
            self._waiting.append(nodes)

    def settle(self, length: int, results: LogFiles | None = None) -> None:
        """Let readers see the results up to a length; what was not appended is looked up in the files.

        These are `results` from now on, or as they were.
        """
        self.results = results or self.results
        if self._end < self.results.first:
            self._begin_anew()
        if self._end < length:
            self._scan(length)
        self._names.write(self._fresh)
        self._fresh = []
        if self._waiting:
            nodes = np.concatenate(self._waiting)
            self._nodes.write(self._count + 1, nodes.tobytes())
            self._waiting = []
            self._publish(nodes)
        self._note_end(length)
        self.settled = length
        if self._nodes.last_position < self.results.starts[-1]:
            self._nodes.begin(self._count, length)
        self._nodes.forget_before(self.results.first)

    def batch_end(self, position: int, most: int) -> int:
        """The end of the last micro-batch within so many bytes after a position, or else of the next one.

        Of micro-batches from before this process only the end of the last is known.
        """
        ends = self._batch_ends
        after = bisect_right(ends, position)
        if after == len(ends):
            return position
        return ends[max(bisect_right(ends, position + most) - 1, after)]

    def batches_after(self, position: int) -> int:
        """How many micro-batches with results end after a position, of those whose ends are known."""
        ends = self._batch_ends
        return len(ends) - bisect_right(ends, position)

    def waiting_since(self, position: int) -> float | None:
        """When the first micro-batch was settled that ends after a position, of those known; None if none."""
        ends, times = self._batch_ends, self._batch_times
        after = bisect_right(ends, position)
        return times[min(after, len(times) - 1)] if after < len(ends) else None

    def _note_end(self, length: int) -> None:
        """A micro-batch ends here; of very many, older ones are forgotten, every other one."""
        if self._batch_ends and self._batch_ends[-1] >= length:
            return
        if len(self._batch_ends) >= _MOST_ENDS:
            self._batch_times, self._batch_ends = self._batch_times[1::2], self._batch_ends[1::2]
        self._batch_times.append(time.time())  # first: whoever finds an end finds its time
        self._batch_ends.append(length)

    def _publish(self, nodes: AnyArray) -> None:
        """Let readers find nodes that were written."""
        self._heads[nodes["query"]] = np.arange(self._count + 1, self._count + 1 + len(nodes))
        self._ends[nodes["query"]] = nodes["end"]  # in order, so that the last one of a query stays
        self._count += len(nodes)

    def end_of(self, query: str) -> int:
        """Where the last record of a query ends; 0 if it has none."""
        number = self._numbers.get(query)
        return 0 if number is None else int(self._ends[number])

    def ranges(self, query: str, position: int, enough: int) -> RangePage:
        """The first ranges of a query that end after a position: so many that they have `enough` bytes.

        A position is refused if what came after it is no longer kept, whosever records that were.
        """
        page = self._ranges(query, position, enough)
        self.results.refuse_too_old(position)  # after they were read: they may have gone meanwhile
        return page

    def _ranges(self, query: str, position: int, enough: int) -> RangePage:
        number = self._numbers.get(query)
        head = NOWHERE if number is None else int(self._heads[number])
        if head == NOWHERE or self._nodes.node(head).end <= position:
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

    def among(self, queries: Sequence[str], position: int, enough: int) -> SharedPage:
        """The first ranges after a position of any of some queries: so many that they have `enough` bytes."""
        settled = self.settled  # first: what is looked up has at least this
        if len(queries) <= _FEW_QUERIES:
            page = self._followed(queries, position, enough, settled)
        else:
            known = ((self._numbers.get(query), query) for query in queries)
            owners = {number: query for number, query in known if number is not None}
            page = scan_ranges(self._nodes, self._count, owners, position, enough)
        self.results.refuse_too_old(position)  # after they were read: they may have gone meanwhile
        return page if page.reach <= settled else cut_page(page, settled)

    def _followed(self, queries: Sequence[str], position: int, enough: int, reach: int) -> SharedPage:
        """The same by the list of each query."""
        ranges: list[OwnRange] = []
        for query in queries:
            page = self._ranges(query, position, enough)
            ranges += [OwnRange(one, query) for one in page.ranges]
            if not page.complete:
                reach = min(reach, page.ranges[-1].end)
        return cut_page(SharedPage(sorted(ranges), reach), reach)

    def recent(self, query: str, most: int) -> int:
        """A position that is kept, after which a query has about `most` bytes of records, or all it has."""
        known = self._numbers.get(query)
        number = NOWHERE if known is None else int(self._heads[known])
        position, left, oldest = self.settled, most, self.results.first
        for _ in range(_MOST_RANGES):
            if number == NOWHERE or self._nodes.node(number).end <= oldest or left <= 0:
                break
            start, end = self._nodes.range(number)
            position = max(start, end - left)
            left -= end - start
            number = self._nodes.node(number).before
        return max(position, oldest)

    def close(self) -> None:
        self._nodes.close()

    def _number(self, query: str) -> int:
        number = self._numbers.get(query)
        return self._new(query) if number is None else number

    def _new(self, query: str) -> int:
        number = self._names.count + len(self._fresh)
        self._make_room(number + 1)
        self._fresh.append(query)
        self._numbers[query] = number  # last: whoever finds the number finds what is kept by it
        return number

    def _make_room(self, queries: int) -> None:
        more = queries - len(self._heads)
        if more > 0:
            more = max(more, len(self._heads) // 2)
            self._heads, self._ends = np.pad(self._heads, (0, more)), np.pad(self._ends, (0, more))
        self._links.make_room(queries)

    def _scan(self, length: int) -> None:
        """Append what the results have beyond what was appended, line by line."""
        if length - self._end > _LEAST_SCANNED_NOTICE:
            _logger.info("results are indexed by query", extra={"bytes": length - self._end})
        lines = chain.from_iterable(
            _queries_of_lines(*piece) for piece in self.results.pieces(self._end, length)
        )
        while piece := list(islice(lines, _LINES_AT_ONCE)):
            names = list(dict.fromkeys(query for query, _ in piece))
            places = {name: place for place, name in enumerate(names)}
            sizes = [size for _, size in piece]
            self.append(names, QueryRanges.of([places[query] for query, _ in piece], sizes))

    def _fits(self) -> bool:
        """Whether the last range is one of these results; else the index is of others, or lacks some."""
        if self.settled < self.results.first:
            return False
        if self._count == self._nodes.origin[0]:
            return True
        start, end = self._nodes.range(self._count)
        query = self._names.names[self._nodes.node(self._count).query]
        if start < self.results.first:
            return False
        with ResultFile(self.results) as file:
            whole = start in self.results.starts or file.read(start - 1, start) == b"\n"
            begin = file.read(start, min(end, start + len(_prefix(query))))
            return whole and begin == _prefix(query) and file.read(end - 1, end) == b"\n"

    def _restore(self, length: int) -> None:
        """Read the nodes that can be right."""
        self._numbers = {name: number for number, name in enumerate(self._names.names)}
        self._make_room(self._names.count)
        for nodes in self._nodes.pieces():
            good = _consistent(nodes, self._count, self.settled, self._names.count, length)
            kept = nodes[:good]
            if good:
                numbers = np.arange(self._count + 1, self._count + 1 + good)
                self._links.note(kept["query"].astype(np.int64), kept["rank"].astype(np.int64), numbers)
                self._publish(kept)
                self.settled = int(kept["end"][-1])
            if good < len(nodes):
                return


class _NameFile:
    """Names, one a line; a line is a number for ever."""

    def __init__(self, path: str) -> None:
        self._path = path
        content = b""
        if os.path.exists(path):
            with open(path, "rb") as file:
                content = file.read()
        self.names, self._bytes = _names(content)
        self.count = len(self.names)

    def clear(self) -> None:
        self.names, self.count, self._bytes = [], 0, 0

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
