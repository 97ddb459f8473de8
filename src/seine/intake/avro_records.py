"""Avro records to typed rows: `FORMAT AVRO WITH (schema = 'bid.avsc' [, schema_id = '17'])`.

A record is one datum of the schema and nothing behind it. With `schema_id` it has the five bytes in front
that a schema registry's writers put there: 0, and the number of the schema, which must be this one.

Law: a record is read if it is, byte for byte, what a writer of that schema may write; any other is a dead
letter with the column at which it breaks. Its columns are then converted as those of a Parquet file are.

The bytes of many Avro records, read field by field, of all records at once.

Each record has its own place; a field is read at the places of all, which then go on by what it took. So a
record costs no call of its own, and what is read of a broken one is bounded by its end.

    an integer      zigzag, seven bits a byte, the last byte below 128: eight bytes are looked at together
    a text          its length, and as many bytes
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, BoolArray, IntArray, UIntArray
from seine.algebra.avro_schema import AvroField, AvroType
from seine.intake.intake_state import ParquetCursor
from seine.intake.parquet import ParquetParser, ParquetSlice
from seine.intake.parsed import RECORD_LIMIT, DeadLine, Parsed, null_places
from seine.intake.record_layout import RecordLayout
from seine.rows.column_arrays import buffer_of, decimal_type

_HEADER = 5  # bytes
_PLAIN = {"float": "<f4", "double": "<f8"}


class AvroRecords:
    """Parses records of one schema."""

    def __init__(self, layout: RecordLayout, fields: Sequence[AvroField], schema_id: int | None) -> None:
        self._fields, self._schema_id = fields, schema_id
        self._columns = ParquetParser(layout)

    def parse(self, values: pa.Array) -> Parsed:
        """The rows of binary records, numbered from 1, and the dead letters."""
        bodies = AvroBodies(values)
        if self._schema_id is not None:
            _pass_header(bodies, self._schema_id)
        table = pa.table({field.name: _column(bodies, field) for field in self._fields})
        bodies.refuse(bodies.at != bodies.end, "there are bytes behind the record")
        whole = ParquetSlice("", ParquetCursor("", 0, 0), table, 1)
        if not bodies.faults:
            return self._columns.parse(whole)
        dead = [DeadLine(row + 1, reason, _hex(values[row])) for row, reason in bodies.faults.items()]
        kept = np.setdiff1d(np.arange(len(values)), np.fromiter(bodies.faults, np.int64))
        parsed = self._columns.parse(replace(whole, table=table.take(pa.array(kept))))
        return _renumbered(parsed, kept + 1, whole, dead)


def _renumbered(parsed: Parsed, numbers: IntArray, whole: ParquetSlice, dead: list[DeadLine]) -> Parsed:
    """Rows of which some were left out, under their own numbers."""
    tuples = replace(parsed.tuples, numbers=numbers[parsed.tuples.numbers - 1])
    dead = dead + [line._replace(line=int(numbers[line.line - 1])) for line in parsed.dead]
    return replace(parsed, tuples=tuples, dead=sorted(dead), record=whole.record)


def _hex(value: pa.Scalar) -> str:
    """The beginning of a record that cannot be read, as hexadecimal digits."""
    return (value.as_py() or b"")[: RECORD_LIMIT // 2].hex()


def _pass_header(bodies: AvroBodies, schema_id: int) -> None:
    every = np.ones(len(bodies), bool)
    begin = bodies.skip(np.full(len(bodies), _HEADER), every, "the header of the schema's number")
    number = bodies.words(begin + 1, ">u4").astype(np.int64)
    bodies.refuse(bodies.data[begin] != 0, "the record does not begin with the number of a schema")
    for other in np.unique(number[number != schema_id]).tolist():
        bodies.refuse(number == other, f"the record is of schema {other}, not {schema_id}")


def _column(bodies: AvroBodies, field: AvroField) -> pa.Array:
    """The values of a field, NULL where the union of the field says so."""
    there = np.ones(len(bodies), bool)
    if field.branches:
        what = f"column {field.name}"
        branch = bodies.integers(there, what)
        bodies.refuse((branch < 0) | (branch >= field.branches), f"{what}: its union has no such branch")
        if field.null is not None:
            there = branch != field.null
    return _READERS[field.type.written](bodies, field.type, there, f"column {field.name}")


def _nulls(bodies: AvroBodies, _type: AvroType, _there: BoolArray, _what: str) -> pa.Array:
    return pa.nulls(len(bodies))


def _booleans(bodies: AvroBodies, _type: AvroType, there: BoolArray, what: str) -> pa.Array:
    begin = bodies.skip(np.ones(len(bodies), np.int64), there, what)
    values = bodies.data[begin]
    bodies.refuse(there & (values > 1) & (begin < bodies.end), f"{what}: neither true nor false")
    return pa.array(values == 1, mask=~there)


def _floats(bodies: AvroBodies, type_: AvroType, there: BoolArray, what: str) -> pa.Array:
    form = np.dtype(_PLAIN[type_.written])
    begin = bodies.skip(np.full(len(bodies), form.itemsize), there, what)
    return pa.array(bodies.words(begin, form.str), type_.arrow, mask=~there)


def _integers(bodies: AvroBodies, type_: AvroType, there: BoolArray, what: str) -> pa.Array:
    values = bodies.integers(there, what)
    if type_.written == "long":
        return pa.array(values, mask=~there).view(type_.arrow)
    narrow = values.astype(np.int32)
    bodies.refuse(there & (values != narrow), f"{what}: no integer of 32 bits")
    return pa.array(narrow, mask=~there).view(type_.arrow)


def _enums(bodies: AvroBodies, type_: AvroType, there: BoolArray, what: str) -> pa.Array:
    places = bodies.integers(there, what)
    bad = there & ((places < 0) | (places >= len(type_.symbols)))
    bodies.refuse(bad, f"{what}: its enum has no such symbol")
    return pa.array(type_.symbols).take(pa.array(np.where(bad, 0, places), mask=~there))


def _texts(bodies: AvroBodies, _type: AvroType, there: BoolArray, what: str) -> pa.Array:
    values = bodies.slices(*bodies.lengths(there, what))
    try:
        texts = values.cast(pa.string())
    except pa.ArrowInvalid:
        bad = np.array([not _is_utf8(value) for value in values.to_pylist()])
        bodies.refuse(there & bad, f"{what}: the text is no UTF-8")
        texts = _masked(values, bad).cast(pa.string())
    return texts if there.all() else _masked(texts, ~there)


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _masked(values: pa.Array, out: BoolArray) -> pa.Array:
    return pc.if_else(pa.array(out), pa.scalar(None, values.type), values)


def _decimals(bodies: AvroBodies, type_: AvroType, there: BoolArray, what: str) -> pa.Array:
    """Whole numbers in two's complement, the highest byte first, as two words of 64 bits."""
    if type_.written == "bytes":
        begin, count = bodies.lengths(there, what)
        bodies.refuse(there & ((count < 1) | (count > 16)), f"{what}: no decimal has so many bytes")
    else:
        count = np.full(len(bodies), type_.size)
        begin = bodies.skip(count, there, what)
    count = np.clip(count, 1, 16)
    behind = np.minimum(begin + count, bodies.end)
    high, low = (bodies.words(behind - back, ">i8").astype(np.int64) for back in (16, 8))
    narrow = count <= 8
    low = np.where(narrow, _extended(low, 64 - 8 * np.minimum(count, 8)), low)
    high = np.where(narrow, low >> 63, _extended(high, 128 - 8 * np.maximum(count, 9)))
    bad = there & ~_within(high, low, 10 ** decimal_type(type_.arrow).precision - 1)
    bodies.refuse(bad, f"{what}: more digits than the schema says")
    pairs = np.stack([low, high], axis=1)
    pairs[~there | bad] = 0
    valid = np.packbits(there, bitorder="little")
    return pa.Array.from_buffers(type_.arrow, len(bodies), [pa.py_buffer(valid), pa.py_buffer(pairs)])


def _extended(word: IntArray, unused: IntArray) -> IntArray:
    """Words whose highest bits are not theirs, with the sign there."""
    extended: IntArray = (word << unused) >> unused
    return extended


def _within(high: IntArray, low: IntArray, bound: int) -> BoolArray:
    """Whether numbers of 128 bits are in [-bound, bound]."""
    lowest = low.view(np.uint64)

    def at_most(high: IntArray, lowest: AnyArray, bound: int) -> BoolArray:
        above, below = bound >> 64, np.uint64(bound & 0xFFFFFFFFFFFFFFFF)
        within: BoolArray = (high < above) | ((high == above) & (lowest <= below))
        return within

    return at_most(high, lowest, bound) & ~at_most(high, lowest, -bound - 1)


_READERS: Mapping[str, Callable[[AvroBodies, AvroType, BoolArray, str], pa.Array]] = {
    "null": _nulls,
    "boolean": _booleans,
    "int": _integers,
    "long": _integers,
    "float": _floats,
    "double": _floats,
    "string": _texts,
    "enum": _enums,
    "bytes": _decimals,
    "fixed": _decimals,
}


_MARGIN = 32  # bytes on both sides, so that whole words can be read anywhere
_LAST = np.uint64(0x8080808080808080)  # the bit that is not set in the last byte of an integer
_GROUPS = np.uint64(0x7F7F7F7F7F7F7F7F)
_TRUNCATED = "the record ends within it"


class AvroBodies:
    """The places of records, and what is wrong with those that are broken: the first thing found counts."""

    def __init__(self, values: pa.Array) -> None:
        starts = np.frombuffer(buffer_of(values, 1), np.int32)
        narrow = starts[values.offset : values.offset + len(values) + 1]
        bounds: IntArray = narrow.astype(np.int64)
        self.data = np.zeros(int(bounds[-1] - bounds[0]) + 2 * _MARGIN, np.uint8)
        inner = np.frombuffer(buffer_of(values, 2), np.uint8)[bounds[0] : bounds[-1]]
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
