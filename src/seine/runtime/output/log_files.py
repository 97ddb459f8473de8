"""A log in segments, as its readers see it: which file has the bytes at a position.

    results.jsonl                      positions [0, 1200)
    results-000000000001200.jsonl      positions [1200, 2410)
    results-000000000002410.jsonl      positions from 2410 on: the one that grows

A position is a number of bytes from the beginning of all that was ever written. It stays what it is when
the oldest segments go.

Reads pieces of the results by position.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from seine.errors import RunError, SeineError
from seine.runtime.output.range_chain import ByteRange

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


_MORE = 1 << 16  # bytes at a time while the end of a line is looked for


class ResultFile:
    """Reads pieces of the results by position. What has gone meanwhile is refused as too old."""

    def __init__(self, files: LogFiles) -> None:
        self._files = files
        self._open: dict[str, int] = {}

    def __enter__(self) -> ResultFile:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open.values():
            os.close(file)

    def read(self, start: int, end: int) -> bytes:
        pieces = []
        for path, begin, stop in self._files.pieces(start, end):
            file = self._file(path, start)
            while begin < stop:
                piece = os.pread(file, stop - begin, begin)
                if not piece:
                    raise RunError(
                        f"'{path}' is shorter than what was delivered to it",
                        hint="put back the file that the service wrote",
                    )
                pieces.append(piece)
                begin += len(piece)
        return b"".join(pieces)

    def _file(self, path: str, position: int) -> int:
        if path not in self._open:
            try:
                self._open[path] = os.open(path, os.O_RDONLY)
            except FileNotFoundError:
                later = self._files.next_start(position)
                if later is None:  # the last one never goes
                    raise
                raise TooOldError(position, later) from None
        return self._open[path]

    def line_start(self, position: int, within: ByteRange) -> int:
        """The first beginning of a line at a position or after it, within whole lines."""
        known = position == within.start or position in self._files.starts
        if known or self.read(position - 1, position) == b"\n":
            return position
        return position + len(self._rest_of_line(position, within.end))

    def lines(self, wanted: ByteRange, most: int) -> bytes:
        """Whole lines from a range of them: `most` bytes or less, but at least one line."""
        start, end = wanted
        text = self.read(start, min(end, start + max(most, 1)))
        if start + len(text) == end:
            return text
        whole = text.rfind(b"\n") + 1
        return text[:whole] if whole else text + self._rest_of_line(start + len(text), end)

    def _rest_of_line(self, position: int, end: int) -> bytes:
        rest = b""
        while b"\n" not in rest and position < end:
            rest += (piece := self.read(position, min(end, position + _MORE)))
            position += len(piece)
        return rest[: rest.find(b"\n") + 1]
