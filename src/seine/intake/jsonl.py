"""A strict bulk parser of JSON Lines into Arrow columns, with a line-by-line fallback.

Law: the bulk path accepts a block only if the reference parser (`json_line.py`) would accept its every line
with the same values; whatever it cannot be sure of it leaves to the reference parser.

A bulk parser of the punctuation lines of JSON Lines into Arrow columns.

Law: it accepts lines only if the reference parser (`json_line.py`) would read them alike. Which attributes
a line binds is inferred from the values that are not NULL, so no name may stand in the text without a
value. That is so if the text has exactly as many strings as there are marks, names of values and string
values, and has no escapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.types import Kind, Type
from seine.intake.json_line import JsonLine
from seine.intake.line_block import LINE_LIMIT, LineBlock, Text, lines_with, lines_with_at, text_of
from seine.intake.parsed import (
    NEGATIVE,
    TUPLE,
    DeadLine,
    Parsed,
    ParsedLines,
    event_times,
    join_parsed,
    no_lines,
    null_places,
    parsed_tuples,
    refuse_times,
)
from seine.intake.record_layout import RecordLayout
from seine.intake.text_values import read_text

_MOST_LINES_READ_SINGLY = 256  # a piece with more that is not clean is split first
_SPLIT_INTO = 32
_ARROW_BLOCK = 4 * 1024 * 1024  # bytes that one thread of Arrow's reader takes at a time
_JSON_NUMBER = rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_NULL_OUTSIDE = re.compile(rb"\}[ \t\r\n]*n")
_ESCAPED_NAME = re.compile(rb"\\u00[467]")  # "@op" may be written so
_PUNCTUATION = b'"@punctuate"'
BulkParser = Callable[[LineBlock, IntArray, Text], Parsed | None]
_AS_TEXT = (Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP)


class JsonLines:
    """Parses blocks of JSON Lines against a record layout."""

    def __init__(self, layout: RecordLayout) -> None:
        self.layout = layout
        self._reference = JsonLine(layout)
        self._punctuations = JsonPunctuations(layout, _read_as, _typed_column)

    def parse(self, block: LineBlock) -> Parsed:
        """The typed rows and punctuations of a block, and its malformed lines with reasons."""
        if block.skipped is not None:
            return self._too_long(block)
        regular = _regular_lines(block)
        punctuating, text = _punctuating_lines(block, regular)
        parts = self._pieces(block, np.flatnonzero(regular & ~punctuating), self._bulk, text)
        if self.layout.schemes:
            parts += self._pieces(block, np.flatnonzero(regular & punctuating), self._bulk_punctuations)
        else:
            regular &= ~punctuating
        odd = np.flatnonzero(~regular)
        if len(odd) or not parts:
            parts.append(self._reference.parse(block, odd))
        return join_parsed(parts)

    def _too_long(self, block: LineBlock) -> Parsed:
        dead = DeadLine(block.first, f"the line is longer than {LINE_LIMIT} bytes", block.record(block.first))
        parsed = self._reference.parse(block, np.array([], np.int64))
        parsed.dead.append(dead)
        return parsed

    def _pieces(
        self, block: LineBlock, chosen: IntArray, bulk: BulkParser, text: Text | None = None
    ) -> list[Parsed]:
        """Parse in bulk; split a piece that is not clean, and parse its smallest parts line by line."""
        if not len(chosen):
            return []
        parsed = bulk(block, chosen, text_of(block, chosen) if text is None else text)
        if parsed is not None:
            return [parsed]
        if len(chosen) <= _MOST_LINES_READ_SINGLY:
            return [self._reference.parse(block, chosen)]
        return [p for part in np.array_split(chosen, _SPLIT_INTO) for p in self._pieces(block, part, bulk)]

    def _bulk(self, block: LineBlock, chosen: IntArray, text: Text) -> Parsed | None:
        names = self._spelling(block.raw(int(chosen[0])))
        if names is None or not _harmless(text, len(chosen)):
            return None
        quoted = self._quote_decimals(text, names)
        table = _read(quoted, self._schema(names), block.longest) if quoted is not None else None
        if table is None or table.num_rows != len(chosen):
            return None
        op = _ops(table.column("@op"), text)
        rows = self._typed(table, names)
        if op is None or rows is None or (self.layout.time is None and (op == NEGATIVE).any()):
            return None
        return parsed_tuples(self.layout, block.path, rows, chosen + block.first, op, block.record)

    def _bulk_punctuations(self, block: LineBlock, chosen: IntArray, text: Text) -> Parsed | None:
        names = [field.name for field in self.layout.fields]
        quoted = self._quote_decimals(text, names) if _harmless(text, len(chosen)) else None
        table = _read(quoted, self._punctuations.schema, block.longest) if quoted is not None else None
        if table is None or table.num_rows != len(chosen):
            return None
        return self._punctuations.parsed(table, text, block, chosen)

    def _spelling(self, line: bytes) -> list[str] | None:
        """The declared column names in the upper and lower case that the first line of a piece has."""
        names = [field.name for field in self.layout.fields]
        try:
            for key in json.loads(line):
                index = self.layout.column(key)
                if index is not None:
                    names[index] = key
        except (ValueError, RecursionError, TypeError):
            return None
        return names if len(set(names)) == len(names) else None

    def _schema(self, names: list[str]) -> pa.Schema:
        fields = [(name, _read_as(field.type)) for name, field in zip(names, self.layout.fields, strict=True)]
        return pa.schema([*fields, ("@op", pa.string())])

    def _quote_decimals(self, data: Text, names: list[str]) -> Text | None:
        """Put numbers of DECIMAL columns in quotes, so that they are not rounded to a double."""
        for name, field in zip(names, self.layout.fields, strict=True):
            if field.type.kind is not Kind.DECIMAL:
                continue
            written = re.escape(json.dumps(name, ensure_ascii=False).encode())
            key = rb"(?<!\\)(" + written + rb"[ \t]*:[ \t]*)"
            if re.search(key + rb'"', data):
                return None
            data = re.sub(key + rb"(" + _JSON_NUMBER + rb")(?=[ \t\r]*[,}])", rb'\1"\2"', data)
        return data

    def _typed(self, table: pa.Table, names: list[str]) -> pa.RecordBatch | None:
        columns = []
        for name, field in zip(names, self.layout.fields, strict=True):
            column = _typed_column(flat(table.column(name)), field.type)
            if column is None:
                return None
            columns.append(column)
        return pa.RecordBatch.from_arrays(columns, schema=self.layout.schema)


def _read_as(kind: Type) -> pa.DataType:
    return pa.string() if kind.kind in _AS_TEXT else kind.arrow()


def _typed_column(column: pa.Array, kind: Type) -> pa.Array | None:
    if kind.kind in _AS_TEXT:
        values, bad = read_text(column, kind)
        return None if bad.any() else values
    if kind.kind is Kind.DOUBLE and not pc.all(pc.is_finite(column), min_count=0).as_py():
        return None
    return column


def _ops(column: pa.ChunkedArray, data: Text) -> AnyArray | None:
    """+1 or -1 for each row; None if any "@op" is not a plain "-"."""
    given = len(column) - column.null_count
    if (data.count(b'"@op"') if b"@" in data else 0) != given:
        return None
    op = np.full(len(column), TUPLE, np.int8)
    if given:
        if not pc.all(pc.equal(column, "-")).as_py():
            return None
        op[pc.is_valid(column).to_numpy()] = NEGATIVE
    return op


def _read(data: Text, schema: pa.Schema, longest: int) -> pa.Table | None:
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    size = min(len(data) + 1, max(_ARROW_BLOCK, 2 * longest))
    read = pj.ReadOptions(use_threads=len(data) > size, block_size=size)
    try:
        return pj.read_json(pa.BufferReader(data), read_options=read, parse_options=options)
    except pa.ArrowException:
        return None


def _harmless(data: Text, lines: int) -> bool:
    """Whether Arrow's reader can be trusted with a text.

    It has no NUL, no stray null between objects, no escaped "@op" that could not be counted, and is valid
    UTF-8.
    """
    if b"\0" in data or (b"\\" in data and _ESCAPED_NAME.search(data)):
        return False
    closed = np.count_nonzero(np.frombuffer(data, np.uint8) == ord("}"))
    if closed != lines and _NULL_OUTSIDE.search(data):  # else every "}" is the end of its line
        return False
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _regular_lines(block: LineBlock) -> BoolArray:
    """A mask of the lines that look like `{...}`.

    If every line does, and there are as many objects as lines, then every line is one object: an
    object that spanned lines would hold a `}` and a `{` with nothing but white space between.
    """
    view = np.frombuffer(block.data, np.uint8)
    last = block.ends - 1
    full = last > block.starts
    regular: BoolArray = full & (block.ends - block.starts <= LINE_LIMIT)
    last = np.where(regular & (view[np.maximum(last, 0)] == 13), last - 1, last)
    regular &= (view[np.minimum(block.starts, len(view) - 1)] == 123) & (view[np.maximum(last, 0)] == 125)
    return regular


def _punctuating_lines(block: LineBlock, regular: BoolArray) -> tuple[BoolArray, Text]:
    """A mask of the lines that may be punctuations, and the text of the other regular lines.

    Most punctuations begin with the mark. If one has it elsewhere, there is an "@" in the text of the
    others; to search for one byte is much faster than for the whole mark.
    """
    punctuating = np.zeros(len(regular), bool)
    punctuating[lines_with_at(block, 1, _PUNCTUATION)] = True
    text = text_of(block, np.flatnonzero(regular & ~punctuating))
    if b"@" in text and _PUNCTUATION in text:
        punctuating[lines_with(block, _PUNCTUATION)] = True
        text = text_of(block, np.flatnonzero(regular & ~punctuating))
    return punctuating, text


MARK = "@punctuate"
_QUOTED = (Kind.STRING, Kind.XML, Kind.DATE, Kind.TIMESTAMP)  # values that JSON writes as strings
Typed = Callable[[pa.Array, Type], pa.Array | None]


class PunctuationColumns(NamedTuple):
    """Typed columns by their ascending position in the stream, and the scheme number of each line."""

    columns: dict[int, pa.Array]
    schemes: AnyArray


class JsonPunctuations:
    """Parses punctuation lines: the attributes that their scheme binds, and the timestamp."""

    def __init__(self, layout: RecordLayout, read_as: Callable[[Type], pa.DataType], typed: Typed) -> None:
        """`read_as` gives the type that Arrow reads a declared type as; `typed` converts to the latter."""
        self.layout = layout
        self._typed = typed
        named = [(layout.fields[c].name, read_as(layout.fields[c].type)) for c in layout.punctuated]
        fields = [pa.field(MARK, pa.struct([pa.field(*pair) for pair in named]))]
        if layout.time is not None:
            time = layout.fields[layout.time]
            fields.append(pa.field(time.name, read_as(time.type)))
        self.schema = pa.schema(fields)

    def parsed(self, table: pa.Table, data: Text, block: LineBlock, chosen: IntArray) -> Parsed | None:
        """The punctuations in a table of Arrow's reader; None if the reference parser has to decide."""
        assert self.layout.time is not None
        declared = self.layout.fields[self.layout.time]
        times = self._typed(flat(table.column(declared.name)), declared.type)
        objects = flat(table.column(MARK))
        assert isinstance(objects, pa.StructArray)
        bound = self._bound(objects)
        if times is None or bound is None or b"\\" in data or not self._names_have_values(data, bound, times):
            return None
        rows = pa.RecordBatch.from_arrays(list(bound.columns.values()), schema=self.layout.punctuated_schema)
        lines = ParsedLines(rows, bound.schemes, event_times(times), chosen + block.first)
        lines, dead = refuse_times(lines, null_places(times), block.record)
        return Parsed(block.path, no_lines(self.layout.schema, np.int8), lines, dead, block.record)

    def _bound(self, objects: pa.StructArray) -> PunctuationColumns | None:
        columns: dict[int, pa.Array] = {}
        given = np.zeros(len(objects), np.int64)  # a bit for each attribute
        for place, (index, values) in enumerate(zip(self.layout.punctuated, objects.flatten(), strict=True)):
            column = self._typed(values, self.layout.fields[index].type)
            if column is None:
                return None
            columns[index] = column
            given |= column.is_valid().to_numpy(zero_copy_only=False).astype(np.int64) << place
        schemes = np.full(len(objects), -1, np.int16)
        for number in reversed(range(len(self.layout.schemes))):
            schemes[given == self._bits(number)] = number
        return None if (schemes < 0).any() else PunctuationColumns(columns, schemes)

    def _bits(self, scheme: int) -> int:
        places = {self.layout.punctuated.index(column) for column in self.layout.schemes[scheme].columns}
        return sum(1 << place for place in places)

    def _names_have_values(self, data: Text, bound: PunctuationColumns, times: pa.Array) -> bool:
        """Whether every name in the text has a value.

        Otherwise there are more strings than the mark of each line, a name for each value, and the string
        values.
        """
        assert self.layout.time is not None
        typed = [(self.layout.fields[index].type, column) for index, column in bound.columns.items()]
        typed.append((self.layout.fields[self.layout.time].type, times))
        strings = len(times)
        for type_, column in typed:
            strings += (len(column) - column.null_count) * (2 if type_.kind in _QUOTED else 1)
        return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord('"'))) == 2 * strings


def flat(column: pa.ChunkedArray) -> pa.Array:
    """A chunked column as one array."""
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)
