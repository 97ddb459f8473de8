"""Pieces of the results that a sink delivers: the records of its queries between two positions.

    results   |q1 q1 q2|q3 q1|q2 q3 ...         positions are bytes, and ends of lines
    sink of q1, q2   [--------piece)[----

Law: the pieces of a sink, one after the other, are the records of its queries from its start on, once each,
in the order of the results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from seine.runtime.output.log_files import TooOldError
from seine.runtime.output.range_chain import ByteRange
from seine.runtime.output.result_file import ResultFile
from seine.runtime.output.result_index import ResultIndex

MOST_PIECE = 8 << 20  # bytes of records that a sink delivers at once, but for a record that is longer


@dataclass(frozen=True)
class RecordPiece:
    """The records of [start, end): JSON Lines, in portions of one query each."""

    start: int
    end: int
    portions: tuple[tuple[str, bytes], ...]

    @property
    def count(self) -> int:
        """How many records there are."""
        return sum(lines.count(b"\n") for _, lines in self.portions)

    def letters(self, sink: str, reason: str) -> bytes:
        r"""Dead letters: each record with the reason why it was given up.

        >>> RecordPiece(0, 9, (("q", b'{"a": 1}\n'),)).letters("s", "down")
        b'{"sink": "s", "reason": "down", "record": {"a": 1}}\n'
        """
        head = json.dumps({"sink": sink, "reason": reason}, ensure_ascii=False).encode()[:-1]
        lines = (line for _, lines in self.portions for line in lines.splitlines())
        return b"".join(head + b', "record": ' + line + b"}\n" for line in lines)


class Waiting(NamedTuple):
    """What a sink has not delivered: micro-batches, records, since when.

    There is no number of records if they are more than a piece has, or some of them are no longer kept.
    """

    batches: int
    records: int | None
    since: float


def waiting(index: ResultIndex, queries: Sequence[str], position: int) -> Waiting | None:
    """What waits after a position; None if nothing is known to."""
    since = index.waiting_since(position)
    if since is None:
        return None
    try:
        end = next_end(index, queries, position)
        records = read_piece(index, queries, position, end).count if end == index.settled else None
    except TooOldError:
        records = None
    return Waiting(index.batches_after(position), records, since)


def next_end(index: ResultIndex, queries: Sequence[str], start: int, most: int = MOST_PIECE) -> int:
    """Where the next piece ends: at the last committed micro-batch, or after about `most` bytes."""
    reach = index.settled  # before the ranges are looked up, so that none is left out
    ranges: list[ByteRange] = []
    for query in queries:
        page = index.ranges(query, start, most)
        ranges += page.ranges
        if not page.complete:
            reach = min(reach, page.ranges[-1].end)
    for begin, end in _within(ranges, start, reach):
        if end - begin > most:
            with ResultFile(index.results) as file:
                return begin + len(file.lines(ByteRange(begin, end), most))
        most -= end - begin
    return reach


def read_piece(index: ResultIndex, queries: Sequence[str], start: int, end: int) -> RecordPiece:
    """The records of some queries between two positions."""
    owner = {one: query for query in queries for one in _ranges_between(index, query, start, end)}
    with ResultFile(index.results) as file:
        portions = tuple((owner[one], file.read(*one)) for one in sorted(owner))
    return RecordPiece(start, end, portions)


def _ranges_between(index: ResultIndex, query: str, start: int, end: int) -> Iterator[ByteRange]:
    while start < end:
        page = index.ranges(query, start, end - start)
        yield from _within(page.ranges, start, end)
        if page.complete:
            return
        start = page.ranges[-1].end


def _within(ranges: Sequence[ByteRange], start: int, end: int) -> list[ByteRange]:
    """What lies between two positions, in order."""
    cut = [ByteRange(max(one.start, start), min(one.end, end)) for one in ranges]
    return sorted(one for one in cut if one.start < one.end)
