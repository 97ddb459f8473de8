"""A block of consecutive whole lines of one text file, as bytes, and its position in the file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seine.algebra.arrays import IntArray
from seine.intake.intake_state import Fingerprint, LineCursor
from seine.intake.parsed import shorten

LINE_LIMIT = 16 * 1024 * 1024  # a longer line is a dead letter
PRINT_BYTES = 1024  # of the head of a file, by which it is told from another


@dataclass(frozen=True)
class LineBlock:
    """Lines [first, first + count) of a file, each ended by a newline or by the end of `data`.

    A line beyond LINE_LIMIT is alone in its block; `data` then has only its beginning, and `skipped` is its
    true length.
    """

    key: str  # identity of the file: device and inode
    path: str
    data: bytes
    first: int
    base: int  # offset of `data` in the file
    head: bytes  # the first bytes of the file
    header: tuple[str, ...] | None = None  # column names, where the file starts with them
    skipped: int | None = None
    seen: int = 0  # the length of the file when the block was read

    @cached_property
    def ends(self) -> IntArray:
        """The offset in `data` at which each line ends, its newline not included."""
        newlines = np.flatnonzero(np.frombuffer(self.data, np.uint8) == 10)
        if self.data and not self.data.endswith(b"\n"):
            newlines = np.append(newlines, len(self.data))
        return newlines

    @cached_property
    def starts(self) -> IntArray:
        """The offset in `data` at which each line starts."""
        return np.concatenate([[0], self.ends[:-1] + 1]) if len(self.ends) else self.ends

    @cached_property
    def longest(self) -> int:
        """The length of the longest line in bytes."""
        return int((self.ends - self.starts).max()) if self.count else 0

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self.ends)

    def raw(self, index: int) -> bytes:
        """A line by its index in the block, without its newline."""
        return self.data[self.starts[index] : self.ends[index]]

    def record(self, line: int) -> str:
        """The beginning of a line by its number in the file, as a dead letter quotes it."""
        index = line - self.first
        return shorten(self.data[self.starts[index] : min(self.ends[index], self.starts[index] + 4096)])

    def size(self, lines: int) -> int:
        """How many bytes of the file the first `lines` lines take."""
        if lines == 0:
            return 0
        if self.skipped is not None:
            return self.skipped
        return min(int(self.ends[lines - 1]) + 1, len(self.data))

    def cursor(self, lines: int) -> LineCursor:
        """The position in the file after the first `lines` lines, to resume from."""
        offset = self.base + self.size(lines)
        line, mark = self.first - 1 + lines, fingerprint(self.head[:offset])
        return LineCursor(self.path, offset, line, mark, self.header, max(self.seen, offset))


def fingerprint(head: bytes) -> Fingerprint:
    """The length and hash of the beginning of a file, to recognise the file by."""
    return Fingerprint(len(head), hashlib.blake2b(head, digest_size=8).hexdigest())


def has_fingerprint(head: bytes, expected: Fingerprint) -> bool:
    """Whether a file with this head is the one that a fingerprint was taken of."""
    return len(head) >= expected.length and fingerprint(head[: expected.length]) == expected
