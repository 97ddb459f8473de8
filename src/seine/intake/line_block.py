"""A block of consecutive whole lines of one text file: bytes, position, and the text of chosen lines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seine.algebra.arrays import AnyArray, IntArray
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


Text = bytes | bytearray
_BLANKED_FRACTION_DIVISOR = 4  # the others are blanked if they have at most a quarter of the bytes
_MOST_GATHERED_LINE = 512  # bytes on average; longer lines are copied one by one
_MOST_BYTES_AT_ONCE = 1 << 18  # whose positions are in memory
_SPACE = 32


def text_of(block: LineBlock, chosen: IntArray) -> Text:
    """The chosen lines in their order, separated by white space.

    Either the chosen lines are copied together, or, where the others are few, these are overwritten with
    spaces.

    >>> lines = LineBlock("", "", b"abcde\\n8\\nfghi", 1, 0, b"")
    >>> [bytes(text_of(lines, np.array(chosen))) for chosen in ([1, 2], [0, 2], [1])]
    [b'8\\nfghi', b'abcde\\n \\nfghi', b'8']
    """
    if not len(chosen):
        return b""
    first, count = int(chosen[0]), int(chosen[-1] - chosen[0]) + 1
    start, end = int(block.starts[first]), int(block.ends[first + count - 1])
    if count == len(chosen):
        return block.data[start:end]
    if 2 * len(chosen) < count:
        return _gathered(block, chosen)
    between = np.ones(count, bool)
    between[chosen - first] = False
    others = np.flatnonzero(between) + first
    if _BLANKED_FRACTION_DIVISOR * _size(block, others) > end - start:
        return _gathered(block, chosen)
    text = bytearray(memoryview(block.data)[start:end])
    _blank(text, start, block, others)
    return text


def lines_with(block: LineBlock, mark: bytes) -> IntArray:
    """The indexes of the lines that contain a mark; fast if its second byte is rare."""
    if mark not in block.data:
        return np.zeros(0, np.int64)
    view = np.frombuffer(block.data, np.uint8)
    at = np.flatnonzero(view[1:] == mark[1])
    return np.unique(np.searchsorted(block.ends, at[_standing(view, at, mark)]))


def lines_with_at(block: LineBlock, place: int, mark: bytes) -> IntArray:
    """The indexes of the lines with a mark at an offset; arbitrary for lines that are too short for it."""
    return _standing(np.frombuffer(block.data, np.uint8), block.starts + place, mark)


def _standing(view: AnyArray, at: IntArray, mark: bytes) -> IntArray:
    """The indexes into `at` (ascending offsets) where a mark stands; its second byte is tested first."""
    at = at[: np.searchsorted(at, len(view) - len(mark), "right")]
    hits = np.flatnonzero(view[at + 1] == mark[1])
    words = np.ndarray(max(len(view) - len(mark) + 1, 0), f"S{len(mark)}", view, strides=(1,))
    standing: IntArray = hits[words[at[hits]] == mark]
    return standing


def _size(block: LineBlock, lines: IntArray) -> int:
    return int((block.ends[lines] - block.starts[lines]).sum())


def _gathered(block: LineBlock, lines: IntArray) -> Text:
    if _size(block, lines) > _MOST_GATHERED_LINE * len(lines):
        return b"\n".join([block.raw(line) for line in lines.tolist()])
    view = np.frombuffer(block.data, np.uint8)
    parts = []
    for piece in _pieces(block, lines):
        after = np.minimum(block.ends[piece] + 1, len(view))  # the last line may have no newline
        parts.append(view[_positions(block.starts[piece], after - block.starts[piece])].tobytes())
    return b"".join(parts)


def _blank(text: bytearray, start: int, block: LineBlock, lines: IntArray) -> None:
    """Overwrite lines with spaces in a text that begins at offset `start` of its block."""
    if _size(block, lines) > _MOST_GATHERED_LINE * len(lines):
        for a, b in zip(block.starts[lines].tolist(), block.ends[lines].tolist(), strict=True):
            text[a - start : b - start] = b" " * (b - a)
        return
    view = np.frombuffer(text, np.uint8)
    for piece in _pieces(block, lines):
        view[_positions(block.starts[piece] - start, block.ends[piece] - block.starts[piece])] = _SPACE


def _pieces(block: LineBlock, lines: IntArray) -> Iterator[IntArray]:
    yield from np.array_split(lines, 1 + _size(block, lines) // _MOST_BYTES_AT_ONCE)


def _positions(starts: IntArray, lengths: IntArray) -> IntArray:
    """The positions of all bytes of several ranges.

    >>> _positions(np.array([3, 9]), np.array([2, 3])).tolist()
    [3, 4, 9, 10, 11]
    """
    ends = np.cumsum(lengths)
    places = np.arange(ends[-1] if len(ends) else 0)
    places += np.repeat(starts - (ends - lengths), lengths)
    return places
