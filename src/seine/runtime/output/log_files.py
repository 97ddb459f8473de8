"""A log in segments, as its readers see it: which file has the bytes at a position.

    results.jsonl                      positions [0, 1200)
    results-000000000001200.jsonl      positions [1200, 2410)
    results-000000000002410.jsonl      positions from 2410 on: the one that grows

A position is a number of bytes from the beginning of all that was ever written. It stays what it is when
the oldest segments go.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from seine.errors import SeineError

_DIGITS = 15


class TooOldError(SeineError):
    """What a position points to is no longer kept; `first` is the oldest that can be read."""

    def __init__(self, position: int, first: int) -> None:
        super().__init__(
            f"position {position} is too old: what came before position {first} is no longer kept",
            hint=f"go on from {first}; seine serve --keep says how long, or how much, is kept",
        )
        self.first = first


class FilePiece(NamedTuple):
    """The bytes [begin, end) of a file."""

    path: str
    begin: int
    end: int


@dataclass(frozen=True)
class LogFiles:
    """The segments of a log by the positions at which they start; the last one grows."""

    path: str
    starts: tuple[int, ...] = (0,)

    @property
    def first(self) -> int:
        """The oldest position that is kept."""
        return self.starts[0]

    def refuse_too_old(self, position: int) -> None:
        """Refuse a position before the first."""
        if position < self.first:
            raise TooOldError(position, self.first)

    def next_start(self, position: int) -> int | None:
        """Where the segment ends that a position is in; None if it is the last."""
        after = bisect_right(self.starts, position)
        return self.starts[after] if after < len(self.starts) else None

    def pieces(self, start: int, end: int) -> Iterator[FilePiece]:
        """The bytes between two positions, file by file.

        >>> list(LogFiles("r.jsonl", (0, 10)).pieces(8, 12))
        ... # doctest: +NORMALIZE_WHITESPACE
        [FilePiece(path='r.jsonl', begin=8, end=10),
         FilePiece(path='r-000000000000010.jsonl', begin=0, end=2)]
        """
        self.refuse_too_old(start)
        while start < end:
            base, until = self.starts[bisect_right(self.starts, start) - 1], self.next_start(start)
            stop = end if until is None else min(end, until)
            yield FilePiece(segment_path(self.path, base), start - base, stop - base)
            start = stop


def segment_path(path: str, start: int) -> str:
    """The file of the segment that starts at a position; the first has the name of the log.

    >>> segment_path("out/r.jsonl", 0), segment_path("out/r.jsonl", 12)
    ('out/r.jsonl', 'out/r-000000000000012.jsonl')
    """
    stem, ending = os.path.splitext(path)
    return path if start == 0 else f"{stem}-{start:0{_DIGITS}d}{ending}"


def segments_on_disk(path: str) -> dict[int, str]:
    """The files that are, or were, segments of a log, by the positions at which they start."""
    folder, name = os.path.split(os.path.abspath(path))
    stem, ending = os.path.splitext(name)
    pattern = re.compile(rf"{re.escape(stem)}-(\d{{{_DIGITS}}}){re.escape(ending)}")
    names = {int(match[1]): one for one in os.listdir(folder) if (match := pattern.fullmatch(one))}
    paths = {start: os.path.join(folder, one) for start, one in names.items()}
    return {0: path, **paths} if os.path.exists(path) else paths
