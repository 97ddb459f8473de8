"""Columns as JSON text, formatted a column at a time.

>>> from seine.algebra.types import BIGINT, STRING
>>> json_objects(("a", "b"), (BIGINT, STRING), [pa.array([1, None]), pa.array(["x", "y"])]).to_pylist()
['{"a": 1, "b": "x"}', '{"a": null, "b": "y"}']
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, IntArray
from seine.algebra.types import Kind, Type
from seine.rows.column_arrays import text_bytes

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
    if at + size > text.shape[1]:
        raise ValueError("a row of the table reaches beyond the text")
    place = np.ndarray(len(text), table.dtype, text.data, at, (text.shape[1],))
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


_NEEDS_ESCAPE = r'["\\\x00-\x1f]'
_LEAST_TABLED_TIMES = 1024  # times; for fewer the tables are not worth it
Piece: TypeAlias = pa.Array | str | Stamps
_YEAR_1, _YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000  # microseconds
_NOT_FINITE = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def json_strings(array: pa.Array) -> pa.Array:
    """Strings as JSON string literals; only those with special characters cost Python time."""
    quoted = pc.binary_join_element_wise('"', array, '"', "")
    if _is_plain(array):
        return quoted
    special = pc.fill_null(pc.match_substring_regex(array, _NEEDS_ESCAPE), False)
    escaped = [json.dumps(text, ensure_ascii=False) for text in array.filter(special).to_pylist()]
    return pc.replace_with_mask(quoted, special, pa.array(escaped, pa.string()))


def _is_plain(array: pa.Array) -> bool:
    """Whether no string has a character that JSON escapes."""
    data = np.frombuffer(text_bytes(array), np.uint8)
    return not len(data) or not (data.min() < 0x20 or any((data == char).any() for char in b'"\\'))


def json_objects(names: Sequence[str], types: Sequence[Type], columns: Sequence[pa.Array]) -> pa.Array:
    """Rows as JSON objects, keys in the order of the columns."""
    return joined(object_pieces(names, printed([*zip(columns, types, strict=True)])))


def object_pieces(names: Sequence[str], values: Sequence[list[Piece]]) -> list[Piece]:
    """The pieces of an object from those of its values."""
    pieces: list[Piece] = ["{"]
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        pieces += [f"{', ' if i else ''}{json.dumps(name, ensure_ascii=False)}: ", *value]
    return [*pieces, "}"]


def value_pieces(array: pa.Array, type_: Type) -> list[Piece]:
    """What has to be joined to make each value's JSON text: constants apart, so that one join does it all."""
    if array.null_count:
        return [pc.fill_null(joined(_known_pieces(array, type_)), "null")]
    return _known_pieces(array, type_)


def _known_pieces(array: pa.Array, type_: Type) -> list[Piece]:
    if type_.is_text:
        return ['"', array, '"'] if _is_plain(array) else [json_strings(array)]
    if type_.kind is Kind.JSON:
        return [array]
    if type_.kind is Kind.TIMESTAMP:
        return ['"', _stamps(array) or _times(array), 'Z"']
    if type_.kind is Kind.DATE:
        return ['"', array.cast(pa.string()), '"']
    if type_.kind is Kind.DOUBLE:
        return [_doubles(array)]
    return [(array.cast(pa.int64()) if type_.kind is Kind.DAY_TIME else array).cast(pa.string())]


def joined(pieces: list[Piece]) -> pa.Array:
    """The text of each row."""
    merged = _merge_fixed(pieces)
    if len(merged) == 1 and isinstance(merged[0], pa.Array):
        return merged[0]
    return pc.binary_join_element_wise(*merged, "")


def _stamps(array: pa.Array) -> Stamps | None:
    """Times to be printed from tables, where that pays."""
    if array.null_count or len(array) < _LEAST_TABLED_TIMES:
        return None
    return Stamps.of(array.view(pa.int64()).to_numpy())


def _times(array: pa.Array) -> pa.Array:
    """UTC timestamps as ISO 8601 without the zone, and without a fraction where it is zero."""
    # Without a time zone Arrow prints some thirty times faster; the zone is known to be UTC.
    text = array.view(pa.timestamp("us")).cast(pa.string())
    micros = array.view(pa.int64()).fill_null(1).to_numpy()
    if ((micros >= _YEAR_1) & (micros < _YEAR_10000)).all():
        text = pc.binary_replace_slice(text, 10, 11, "T")
    else:
        text = pc.replace_substring(text, " ", "T", max_replacements=1)
    return text if (micros % 1_000_000).all() else pc.replace_substring(text, ".000000", "")


def _doubles(array: pa.Array) -> pa.Array:
    """The shortest text that reads back; a whole number has a point: no reader takes it for an integer."""
    text = array.cast(pa.string())
    values = array.fill_null(0.5).to_numpy()
    if np.isfinite(values).all() and (values % 1).all():  # nothing is whole
        return text
    finite = pc.is_finite(array)
    short = pc.and_(pc.equal(array, pc.trunc(array)), pc.invert(pc.match_substring(text, "e")))
    text = pc.binary_join_element_wise(text, pc.if_else(pc.and_(short, finite), ".0", ""), "")
    if pc.all(finite).as_py():
        return text
    for plain, quoted in _NOT_FINITE.items():
        text = pc.if_else(pc.fill_null(pc.equal(text, plain), False), quoted, text)
    return text


def printed(columns: Sequence[tuple[pa.Array, Type]]) -> list[list[Piece]]:
    """The pieces of each column; few timestamps are printed together, for each printing has its price."""
    times = [column for column, type_ in columns if type_.kind is Kind.TIMESTAMP and not column.null_count]
    size = len(columns[0][0])
    if len(times) < 2 or not 0 < size < _LEAST_TABLED_TIMES:
        return [value_pieces(*one) for one in columns]
    text, at = _times(pa.concat_arrays(times)), iter(range(0, len(times) * size, size))
    return [
        ['"', text.slice(next(at), size), 'Z"']
        if type_.kind is Kind.TIMESTAMP and not column.null_count
        else value_pieces(column, type_)
        for column, type_ in columns
    ]


def _merge_fixed(pieces: list[Piece]) -> list[pa.Array | str]:
    """Neighbours of a fixed width as one piece: the fewer pieces, the faster they are joined."""
    merged: list[pa.Array | str] = []
    for _, group in groupby(pieces, lambda piece: isinstance(piece, pa.Array)):
        parts = list(group)
        fixed = [part for part in parts if not isinstance(part, pa.Array)]
        merged += [join_fixed(fixed)] if fixed else [part for part in parts if isinstance(part, pa.Array)]
    return merged
