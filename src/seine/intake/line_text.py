"""Some lines of a block as one text, and which lines have a mark; by column, not line by line."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from seine.intake.line_block import LineBlock
from seine.rows.arrays import Bytes, Ints

Text = bytes | bytearray
_MOST_OTHERS_PART = 4  # others are few if they have no more than this part of the bytes
_LONG = 512  # bytes of a line; longer ones are copied one by one
_PIECE = 1 << 18  # bytes whose places are held at once
_SPACE = 32


def text_of(block: LineBlock, chosen: Ints) -> Text:
    """The chosen lines in their order, with white space between them and nothing else.

    Either the chosen lines are gathered, or, where the others are few, these are blanked in a copy.

    >>> lines = LineBlock("", "", b"abcde\\n8\\nfghi", 1, 0, b"")
    >>> [bytes(text_of(lines, np.array(some))) for some in ([1, 2], [0, 2], [1])]
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
    if _MOST_OTHERS_PART * _size(block, others) > end - start:
        return _gathered(block, chosen)
    text = bytearray(memoryview(block.data)[start:end])
    _blank(text, start, block, others)
    return text


def lines_with(block: LineBlock, mark: bytes) -> Ints:
    """The lines in which a mark stands; its second byte should be rare."""
    if mark not in block.data:
        return np.zeros(0, np.int64)
    view = np.frombuffer(block.data, np.uint8)
    at = np.flatnonzero(view[1:] == mark[1])
    return np.unique(np.searchsorted(block.ends, at[_standing(view, at, mark)]))


def lines_with_at(block: LineBlock, place: int, mark: bytes) -> Ints:
    """The lines in which a mark stands at a place; for lines that are shorter, the result is arbitrary."""
    return _standing(np.frombuffer(block.data, np.uint8), block.starts + place, mark)


def _standing(view: Bytes, at: Ints, mark: bytes) -> Ints:
    """At which of some places, which ascend, a mark stands; its second byte is looked at first."""
    at = at[: np.searchsorted(at, len(view) - len(mark), "right")]
    hits = np.flatnonzero(view[at + 1] == mark[1])
    words = np.ndarray(max(len(view) - len(mark) + 1, 0), f"S{len(mark)}", view, strides=(1,))
    standing: Ints = hits[words[at[hits]] == mark]
    return standing


def _size(block: LineBlock, lines: Ints) -> int:
    return int((block.ends[lines] - block.starts[lines]).sum())


def _gathered(block: LineBlock, lines: Ints) -> Text:
    if _size(block, lines) > _LONG * len(lines):
        return b"\n".join([block.raw(line) for line in lines.tolist()])
    view = np.frombuffer(block.data, np.uint8)
    parts = []
    for part in _pieces(block, lines):
        after = np.minimum(block.ends[part] + 1, len(view))  # the last line may have no newline
        parts.append(view[_places(block.starts[part], after - block.starts[part])].tobytes())
    return b"".join(parts)


def _blank(text: bytearray, start: int, block: LineBlock, lines: Ints) -> None:
    """Put spaces over lines of a text that begins at a place of its block."""
    if _size(block, lines) > _LONG * len(lines):
        for a, b in zip(block.starts[lines].tolist(), block.ends[lines].tolist(), strict=True):
            text[a - start : b - start] = b" " * (b - a)
        return
    view = np.frombuffer(text, np.uint8)
    for part in _pieces(block, lines):
        view[_places(block.starts[part] - start, block.ends[part] - block.starts[part])] = _SPACE


def _pieces(block: LineBlock, lines: Ints) -> Iterator[Ints]:
    yield from np.array_split(lines, 1 + _size(block, lines) // _PIECE)


def _places(starts: Ints, lengths: Ints) -> Ints:
    """The places of all bytes of some ranges.

    >>> _places(np.array([3, 9]), np.array([2, 3])).tolist()
    [3, 4, 9, 10, 11]
    """
    ends = np.cumsum(lengths)
    places = np.arange(ends[-1] if len(ends) else 0)
    places += np.repeat(starts - (ends - lengths), lengths)
    return places
