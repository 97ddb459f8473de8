"""The records of one query out of the results of all, from a place in the file on."""

from __future__ import annotations

from typing import NamedTuple

from seine.runtime.output.log_files import ResultFile
from seine.runtime.output.range_chain import ByteRange
from seine.runtime.output.result_index import ResultIndex

_MOST_PIECE = 1 << 20  # bytes of one answer, but for a record that is longer


class TailedRecords(NamedTuple):
    """Lines of a query, and where to go on."""

    lines: bytes
    next: int


def read_records(index: ResultIndex, query: str, start: int, most: int = _MOST_PIECE) -> TailedRecords:
    """The lines of a query that begin at `start` or later, about `most` bytes of them.

    What is read is proportional to them, whatever other queries have delivered meanwhile.
    """
    pieces, position = read_pieces(index, query, start, most)
    return TailedRecords(b"".join(lines for _, lines in pieces), position)


def read_pieces(
    index: ResultIndex, query: str, start: int, most: int = _MOST_PIECE
) -> tuple[list[tuple[int, bytes]], int]:
    """The same lines in pieces that stand together in the results, each with its place; where to go on."""
    index.results.refuse_too_old(start)
    settled = index.settled  # before the ranges are looked up, so that none is left out
    ranges, complete = index.ranges(query, start, most)
    pieces: list[tuple[int, bytes]] = []
    with ResultFile(index.results) as file:
        for whole in ranges:
            begin = file.line_start(max(whole.start, start), whole)
            text = file.lines(ByteRange(begin, whole.end), most - sum(len(lines) for _, lines in pieces))
            pieces.append((begin, text))
            start = begin + len(text)
            if start < whole.end:
                return pieces, start
    return pieces, max(start, settled) if complete else start
