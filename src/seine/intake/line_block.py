"""Some consecutive whole lines of one text file, as bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seine.intake.intake_state import Fingerprint, LineCursor
from seine.intake.parsed import shorten
from seine.rows.arrays import Ints

LINE_LIMIT = 16 * 1024 * 1024  # a longer line is a dead letter
PRINT_BYTES = 1024  # this much of a file's head tells it from another


@dataclass(frozen=True)
class LineBlock:
    """Lines [first, first + count) of a file, each ended by a newline or by the end of `data`.

    Of a line beyond LINE_LIMIT `data` has only the beginning; it is then alone in its block and
    `skipped` is its true length.
    """

    key: str  # identity of the file: device and inode
    path: str
    data: bytes
    first: int
    base: int  # offset of `data` in the file
    head: bytes  # the first bytes of the file
    header: tuple[str, ...] | None = None  # column names, where the file starts with them
    skipped: int | None = None

    @cached_property
    def ends(self) -> Ints:
        """Where each line ends, its newline not included."""
        ends = np.flatnonzero(np.frombuffer(self.data, np.uint8) == 10)
        if self.data and not self.data.endswith(b"\n"):
            ends = np.append(ends, len(self.data))
        return ends

    @cached_property
    def starts(self) -> Ints:
        return np.concatenate([[0], self.ends[:-1] + 1]) if len(self.ends) else self.ends

    @cached_property
    def longest(self) -> int:
        """How many bytes the longest line has."""
        return int((self.ends - self.starts).max()) if self.count else 0

    @property
    def count(self) -> int:
        return len(self.ends)

    def raw(self, index: int) -> bytes:
        return self.data[self.starts[index] : self.ends[index]]

    def record(self, line: int) -> str:
        """The beginning of the text of a line, by its number in the file."""
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
        """The position in this file when the first `lines` lines have been taken."""
        offset = self.base + self.size(lines)
        line, mark = self.first - 1 + lines, fingerprint(self.head[:offset])
        return LineCursor(self.path, offset, line, mark, self.header)


def fingerprint(head: bytes) -> Fingerprint:
    """What tells a file that begins like this from others."""
    return Fingerprint(len(head), hashlib.blake2b(head, digest_size=8).hexdigest())


def has_fingerprint(head: bytes, expected: Fingerprint) -> bool:
    """Whether a file begins as it did."""
    return len(head) >= expected.length and fingerprint(head[: expected.length]) == expected
