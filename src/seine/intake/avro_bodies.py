"""The bytes of many Avro records, read field by field, of all records at once.

Each record has its own place; a field is read at the places of all, which then go on by what it took. So a
record costs no call of its own, and what is read of a broken one is bounded by its end.

    an integer      zigzag, seven bits a byte, the last byte below 128: eight bytes are looked at together
    a text          its length, and as many bytes
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, BoolArray, IntArray, UIntArray
from seine.intake.parsed import null_places

_MARGIN = 32  # bytes on both sides, so that whole words can be read anywhere
_LAST = np.uint64(0x8080808080808080)  # the bit that is not set in the last byte of an integer
_GROUPS = np.uint64(0x7F7F7F7F7F7F7F7F)
_TRUNCATED = "the record ends within it"


class AvroBodies:
    """The places of records, and what is wrong with those that are broken: the first thing found counts."""

    def __init__(self, values: pa.Array) -> None:
        _, offsets, data = values.buffers()
        narrow = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
        bounds: IntArray = narrow.astype(np.int64)
        self.data = np.zeros(int(bounds[-1] - bounds[0]) + 2 * _MARGIN, np.uint8)
        if data is not None:
            inner = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
            self.data[_MARGIN : _MARGIN + len(inner)] = inner
        bounds += _MARGIN - bounds[0]
        self.at, self.end = bounds[:-1].copy(), bounds[1:]
        self.faults: dict[int, str] = {}
        self.refuse(null_places(values), "the record has no value (a tombstone)")

    def __len__(self) -> int:
        return len(self.at)

    def refuse(self, bad: BoolArray, reason: str) -> None:
        """Let records be broken; nothing more is read of them."""
        if bad.any():
            for row in np.flatnonzero(bad).tolist():
                self.faults.setdefault(row, reason)
            self.at[bad] = self.end[bad]

    def words(self, at: IntArray, type_: str) -> AnyArray:
        """Values of a plain type at any bytes."""
        item = np.dtype(type_)
        view = np.ndarray((len(self.data) - item.itemsize + 1,), item, self.data, strides=(1,))
        return view[at]

    def skip(self, size: IntArray, wanted: BoolArray, what: str) -> IntArray:
        """Go on by as many bytes where a value is wanted; where each value began."""
        self.refuse(wanted & ((size > self.end - self.at) | (size < 0)), f"{what}: {_TRUNCATED}")
        begin = self.at.copy()
        self.at += np.where(wanted & (self.at < self.end), size, 0)
        return begin

    def integers(self, wanted: BoolArray, what: str) -> IntArray:
        """An integer of up to 64 bits of each record where one is wanted."""
        word: UIntArray = self.words(self.at, "<u8")
        stops = ~word & _LAST
        below = (stops & (~stops + np.uint64(1))) - np.uint64(1)  # the bits before the last byte's highest
        size = np.bitwise_count(below).astype(np.int64) // 8 + 1
        value = _compact(word & below & _GROUPS)
        if (long := np.flatnonzero(size > 8)).size:
            more, most = self.data[self.at[long] + 8], self.data[self.at[long] + 9]
            value[long] |= (more & np.uint8(0x7F)).astype(np.uint64) << np.uint64(56)
            value[long] |= np.where(more > 0x7F, most & np.uint8(1), 0).astype(np.uint64) << np.uint64(63)
            size[long] += more > 0x7F
            large = np.zeros(len(self), bool)
            large[long] = (more > 0x7F) & (most > 1)
            self.refuse(wanted & large, f"{what}: no integer of 64 bits")
        self.skip(size, wanted, what)
        return (value >> np.uint64(1)).view(np.int64) ^ -(value & np.uint64(1)).view(np.int64)

    def lengths(self, wanted: BoolArray, what: str) -> tuple[IntArray, IntArray]:
        """Where the bytes of each value begin, and how many there are; none where nothing is wanted."""
        count = self.integers(wanted, what)
        begin = self.skip(count, wanted, what)
        return begin, self.at - begin

    def slices(self, begin: IntArray, count: IntArray) -> pa.Array:
        """The bytes of each value, as one array: values stand in the order of their records."""
        bounds = np.empty(2 * len(begin), np.int32)
        bounds[0::2], bounds[1::2] = begin, begin + count
        parts = max(len(bounds) - 1, 0)
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(self.data)]
        between = pa.Array.from_buffers(pa.binary(), parts, buffers)
        return between.take(pa.array(np.arange(0, parts, 2)))


def _compact(value: UIntArray) -> UIntArray:
    """Eight groups of seven bits put together.

    >>> _compact(np.array([0x0102], np.uint64)).tolist()
    [130]
    """
    steps = ((0x007F007F007F007F, 1), (0x00003FFF00003FFF, 2), (0x000000000FFFFFFF, 4))
    for mask, shift in steps:
        low = np.uint64(mask)
        value = (value & low) | ((value & ~low) >> np.uint64(shift))
    return value
