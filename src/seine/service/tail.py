"""The records of one query out of the results of all, from a place in the file on."""

from __future__ import annotations

import json
from typing import NamedTuple

_MOST_PIECE = 1 << 20  # bytes that are read at once, and about as many of one answer
_MOST_READ = 64 << 20  # of one answer, so that a rare query does not hold its client for ever


class TailedRecords(NamedTuple):
    """Lines of a query, and where to go on."""

    lines: bytes
    next: int


def read_records(path: str, query: str, start: int, end: int, most: int = _MOST_PIECE) -> TailedRecords:
    """The lines of a query among the bytes [start, end), which are whole lines.

    Stops when it has about `most` bytes of them.
    """
    prefix = f'{{"query": {json.dumps(query, ensure_ascii=False)}, '.encode()
    end = min(end, start + _MOST_READ)
    lines: list[bytes] = []
    size = 0
    with open(path, "rb") as file:
        file.seek(start)
        while start < end and size < most:
            for line in file.readlines(min(_MOST_PIECE, end - start)):
                if start >= end:
                    break
                start += len(line)
                if line.startswith(prefix):
                    lines.append(line)
                    size += len(line)
    return TailedRecords(b"".join(lines), start)
