"""Timestamps printed from tables of days, seconds of a day and thousandths, into text of a fixed width."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, IntArray

_YEAR_1, _YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000  # microseconds
_DAY_SECONDS = 86_400
_WHOLE, _FRACTION = 19, 7  # characters: 2024-02-29T01:02:03, .120000
_RANGE = 1 << 16  # days that a table may span

Part: TypeAlias = "str | Stamps"


class Stamps(NamedTuple):
    """Microseconds of UTC in the years 1 to 9999, as ISO 8601; a fraction of zero is not printed."""

    seconds: IntArray
    fraction: AnyArray

    @staticmethod
    def of(micros: IntArray) -> Stamps | None:
        """None if these times are better printed one by one."""
        if not len(micros) or micros.min() < _YEAR_1 or micros.max() >= _YEAR_10000:
            return None
        seconds = micros // 1_000_000
        if seconds.max() - seconds.min() > _RANGE * _DAY_SECONDS:
            return None
        return Stamps(seconds, (micros - seconds * 1_000_000).astype(np.int32))

    @property
    def width(self) -> int:
        return _WHOLE + (_FRACTION if self.fraction.any() else 0)

    def write(self, text: AnyArray, at: int) -> IntArray | None:
        """Print into each row from byte `at` on; the rows that got NULs for a fraction, if any did."""
        days = self.seconds // _DAY_SECONDS
        first = int(days.min())
        _put(text, at, _day_table(first, int(days.max())), days - first)
        _put(text, at + 10, _second_table(), self.seconds - days * _DAY_SECONDS)
        if self.width == _WHOLE:
            return None
        thousandths = self.fraction // 1000
        _put(text, at + 19, _thousand_table(b"."), thousandths)
        _put(text, at + 23, _thousand_table(b""), self.fraction - thousandths * 1000)
        whole = np.flatnonzero(self.fraction == 0)
        text[whole, at + _WHOLE : at + _WHOLE + _FRACTION] = 0
        return whole if len(whole) else None


def join_fixed(parts: list[Part]) -> pa.Array | str:
    """Constants and stamps joined for each row; one constant if there are no stamps.

    >>> join_fixed(["<", Stamps.of(np.array([0, 1_500_000])), ">"]).to_pylist()
    ['<1970-01-01T00:00:00>', '<1970-01-01T00:00:01.500000>']
    """
    count = next((len(part.seconds) for part in parts if isinstance(part, Stamps)), None)
    if count is None:
        return "".join(map(str, parts))
    encoded = [part.encode() if isinstance(part, str) else bytes(part.width) for part in parts]
    template = np.frombuffer(b"".join(encoded), np.uint8)
    text = np.empty((count, len(template)), np.uint8)
    text[:] = template
    widths = np.full(count, len(template), np.int32)
    at, blanks = 0, False
    for part, piece in zip(parts, encoded, strict=True):
        if not isinstance(part, str) and (short := part.write(text, at)) is not None:
            widths[short] -= _FRACTION
            blanks = True
        at += len(piece)
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(widths, out=offsets[1:])
    data = text.tobytes().replace(b"\0", b"") if blanks else text
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _put(text: AnyArray, at: int, table: AnyArray, rows: IntArray) -> None:
    """Copy a row of the table into some bytes of each row of the text."""
    size = table.dtype.itemsize
    place = np.ndarray(len(text), table.dtype, text.data, at, (text.shape[1],))
    assert at + size <= text.shape[1]
    place[:] = table.take(rows)


@lru_cache(maxsize=16)
def _day_table(first: int, last: int) -> AnyArray:
    days = pa.array(np.arange(first, last + 1, dtype=np.int32)).view(pa.date32())
    return np.array([text.encode() for text in days.cast(pa.string()).to_pylist()]).view("V10")


@lru_cache(maxsize=1)
def _second_table() -> AnyArray:
    seconds = np.arange(_DAY_SECONDS)
    text = np.full((_DAY_SECONDS, 9), ord(":"), np.uint8)
    text[:, 0] = ord("T")
    for i, part in enumerate((seconds // 3600, seconds // 60 % 60, seconds % 60)):
        text[:, 3 * i + 1] = ord("0") + part // 10
        text[:, 3 * i + 2] = ord("0") + part % 10
    return text.view("V9").ravel()


@lru_cache(maxsize=2)
def _thousand_table(front: bytes) -> AnyArray:
    return np.array([front + b"%03d" % i for i in range(1000)]).view(f"V{len(front) + 3}")
