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

from seine.runtime.output.log_files import ResultFile, TooOldError
from seine.runtime.output.node_files import OwnRange
from seine.runtime.output.range_chain import ByteRange
from seine.runtime.output.result_index import ResultIndex

_MOST_IN_VAIN = 2  # bytes that are read for each that is wanted
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
    page = index.among(queries, start, most)
    for one in page.ranges:
        begin, end = max(one.range.start, start), one.range.end
        if end - begin > most:
            with ResultFile(index.results) as file:
                return begin + len(file.lines(ByteRange(begin, end), most))
        most -= end - begin
    return page.reach


def has_records(index: ResultIndex, queries: Sequence[str], start: int, end: int) -> bool:
    """Whether there is a record of some queries between two positions."""
    while start < end:
        page = index.among(queries, start, 1)
        if page.ranges:
            return page.ranges[0].range.start < end
        if page.reach <= start:
            return False
        start = page.reach
    return False


def read_piece(index: ResultIndex, queries: Sequence[str], start: int, end: int) -> RecordPiece:
    """The records of some queries between two positions."""
    portions: list[tuple[str, bytes]] = []
    position = start
    with ResultFile(index.results) as file:
        while position < end:
            page = index.among(queries, position, end - position)
            portions += _read_ranges(file, page.ranges, position, end)
            if page.reach <= position:
                break
            position = page.reach
    return RecordPiece(start, end, tuple(portions))


def _read_ranges(
    file: ResultFile, ranges: Sequence[OwnRange], start: int, end: int
) -> Iterator[tuple[str, bytes]]:
    """The records of ranges between two positions; those that lie close together are read at once."""
    inside = [(max(one.start, start), min(one.end, end), query) for one, query in ranges if one.start < end]
    if not inside:
        return
    first, last = inside[0][0], inside[-1][1]
    if last - first > _MOST_IN_VAIN * sum(stop - begin for begin, stop, _ in inside):
        yield from ((query, file.read(begin, stop)) for begin, stop, query in inside)
        return
    text = file.read(first, last)
    yield from ((query, text[begin - first : stop - first]) for begin, stop, query in inside)
