"""Vectorised text operations over the lines of a block: extract chosen lines, find lines with a mark."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from seine.algebra.arrays import AnyArray, IntArray
from seine.intake.line_block import LineBlock

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
