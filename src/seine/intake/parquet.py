"""A resumable reader and strict parser of Parquet files: columns by name, and only lossless conversions."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import structs

from seine.algebra.arrays import BoolArray
from seine.algebra.types import Kind, Type
from seine.errors import SourceError
from seine.intake.files import Files
from seine.intake.intake_state import FileCursor, LostBytes, MovedFile, ParquetCursor, file_identity
from seine.intake.marked_rows import (
    MARKERS,
    NOT_AN_OPERATION,
    PUNCTUATE,
    read_operations,
    separate_marked,
)
from seine.intake.parsed import RECORD_LIMIT, TUPLE, DeadLine, Parsed
from seine.intake.record_layout import RecordLayout

_CALENDAR = {  # the years 1 to 9999: others have no text that could be read again
    Kind.DATE: (date.min, date.max),
    Kind.TIMESTAMP: (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)),
}


@dataclass(frozen=True)
class ParquetSlice:
    """Rows [first, first + count) of a Parquet file: what a `LineBlock` is for text files."""

    key: str
    start: ParquetCursor  # of the file
    table: pa.Table  # columns under the names of the file
    first: int

    @property
    def path(self) -> str:
        return self.start.path

    @property
    def count(self) -> int:
        """How many rows there are."""
        rows: int = self.table.num_rows
        return rows

    def size(self, lines: int) -> int:
        """About how many bytes the first `lines` rows take."""
        size: int = self.table.nbytes
        return size * lines // max(self.count, 1)

    def cursor(self, lines: int) -> ParquetCursor:
        """The position in the file after the first `lines` rows, to resume from."""
        return structs.replace(self.start, row=self.first - 1 + lines)

    def record(self, line: int) -> str:
        """A row by its number in the file, as a dead letter quotes it."""
        rows = self.table.slice(line - self.first, 1)
        try:
            row = rows.to_pylist()[0]
        except (OverflowError, ValueError):  # a time that Python has no name for
            row = pa.table({name: _counted(rows.column(name)) for name in rows.column_names}).to_pylist()[0]
        return json.dumps(row, default=str, ensure_ascii=False)[:RECORD_LIMIT]


class ParquetReader:
    """Reads slices of rows, file by file in name order; a file without a footer yet is ignored."""

    def __init__(
        self,
        files: Files,
        position: Mapping[str, FileCursor],
        layout: RecordLayout,
        *,
        follow: bool,
    ) -> None:
        self.files = files
        self.layout = layout
        self.follow = follow
        self.cursors = {key: cursor for key, cursor in position.items() if isinstance(cursor, ParquetCursor)}
        self.gone: set[str] = set()
        self.lost: list[LostBytes] = []  # a Parquet file is there whole or not at all
        self.moved: list[MovedFile] = []
        self._opened: tuple[str, pq.ParquetFile] | None = None
        self._group: tuple[str, int, pa.Table] | None = None  # the row group that was decoded last
        self._drained = True  # whether all lines that were read are admitted
        self._continued: dict[str, ParquetCursor] = {}  # files in place of others that were half read
        self._listed = files.listing()
        if not follow:
            for path in self._listed:
                self._open(path)

    def read(self, lines: int, size: int, force: bool) -> ParquetSlice | None:
        """The next slice: at most `lines` rows of one row group; nothing if `size` is 0, unless forced."""
        if size <= 0 and not force:
            return None
        self._drained = force
        try:
            return self._next_slice(lines)
        except _NotYet:
            return None

    def _next_slice(self, lines: int) -> ParquetSlice | None:
        for path in self._paths():
            key, file = self._open(path)
            if file is None:
                continue
            cursor = self.cursors[key]
            if cursor.row < file.metadata.num_rows:
                table = self._slice(key, path, file, cursor.row, lines)
                rows = ParquetSlice(key, cursor, table, cursor.row + 1)
                self.cursors[key] = rows.cursor(rows.count)
                return rows
        return None

    def _slice(self, key: str, path: str, file: pq.ParquetFile, row: int, lines: int) -> pa.Table:
        """Rows from `row` on, at most to the end of their row group, which is decoded once."""
        group = 0
        while row >= file.metadata.row_group(group).num_rows:
            row -= file.metadata.row_group(group).num_rows
            group += 1
        if self._group is None or self._group[:2] != (key, group):
            self._group = key, group, _read_group(path, file, group)
        table = self._group[2].slice(row, lines)
        if row + table.num_rows == self._group[2].num_rows:
            self._group = None  # the slices keep it in memory for as long as they are needed
        return table

    def unread(self) -> Mapping[str, FileCursor]:
        """Where files begin that took the place of others; others are known by their names and times."""
        return self._continued

    def has_read(self) -> bool:
        """Whether it has, or was given, a position in any file."""
        return bool(self.cursors or self.gone)

    def exhausted(self) -> bool:
        """Whether nothing more will come; never so in follow mode."""
        if self.follow:
            return False
        return all(self._rest(path) == 0 for path in self._paths())

    def close(self) -> None:
        """Close the file that is open."""
        self._opened = self._group = None

    def _paths(self) -> list[str]:
        if self.follow:
            self._listed = self.files.listing()
        while not self.follow and self._listed and self._rest(self._listed[0]) == 0:
            self._listed = self._listed[1:]
        return self._listed

    def _rest(self, path: str) -> int:
        key, file = self._open(path)
        return file.metadata.num_rows - self.cursors[key].row if file is not None else 0

    def check(self, path: str) -> None:
        """Refuse a file whose schema is not what was declared; one without a footer yet is none."""
        self._open(path)

    def _open(self, path: str) -> tuple[str, pq.ParquetFile | None]:
        try:
            status = os.stat(path)
        except FileNotFoundError:
            if self.follow:
                return "", None  # it went away since it was listed
            raise SourceError(path, f"'{path}' was removed while it was being read") from None
        key = file_identity(status, changes=True)
        content = ParquetCursor(path, status.st_mtime_ns, status.st_size)
        key = next((known for known, cursor in self.cursors.items() if _same_file(cursor, content)), key)
        if self._opened is not None and self._opened[0] == key:
            return self._opened
        try:
            file = pq.ParquetFile(path)
        except (pa.ArrowInvalid, OSError) as error:
            if self.follow and not isinstance(error, PermissionError):
                return key, None
            raise SourceError(path, f"cannot read '{path}' as Parquet: {_first_line(error)}") from None
        check_schema(path, file.schema_arrow, self.layout)
        if key not in self.cursors:
            self.cursors[key] = self._take_place(key, structs.replace(content, rows=file.metadata.num_rows))
        self._opened = (key, file)
        return self._opened

    def _take_place(self, key: str, content: ParquetCursor) -> ParquetCursor:
        """Where to begin to read a file: in place of one that was not read to its end, at the row reached.

        Such a file must have as many rows; nobody could say which rows of another one are new. It is begun
        when all lines that were read before are admitted, so that there is one position in its path.
        """
        replaced = [
            (known, cursor)
            for known, cursor in self.cursors.items()
            if cursor.path == content.path and 0 < cursor.row < cursor.rows
        ]
        for known, cursor in replaced:
            if cursor.rows != content.rows or not self.follow:
                raise SourceError(content.path, _replaced(cursor, content))
            if not self._drained:
                raise _NotYet
            del self.cursors[known]
            self.gone.add(known)
            self._continued[key] = structs.replace(content, row=cursor.row)
        return self._continued.get(key, content)


class _NotYet(Exception):
    """A file must wait until all lines that were read before it are admitted."""


def _replaced(before: ParquetCursor, after: ParquetCursor) -> str:
    return (
        f"'{after.path}' was replaced after {before.row:,} of its {before.rows:,} rows were read,"
        f" by a file of {after.rows:,} rows: put other rows under another name"
    )


def _same_file(one: ParquetCursor, other: ParquetCursor) -> bool:
    """Whether two cursors have the same path, modification time and size, on whatever device."""
    return (one.path, one.changed, one.size) == (other.path, other.changed, other.size)


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0][:200]


def _read_group(path: str, file: pq.ParquetFile, group: int) -> pa.Table:
    try:
        return file.read_row_group(group)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(path, f"cannot read row group {group} of '{path}': {_first_line(error)}") from None


class ParquetParser:
    """Converts slices to the declared types; a row that cannot be converted exactly is a dead letter."""

    def __init__(self, layout: RecordLayout) -> None:
        self.layout = layout

    def parse(self, rows: ParquetSlice) -> Parsed:
        """The typed rows of a slice, and those that do not fit with reasons."""
        lines = np.arange(rows.first, rows.first + rows.count, dtype=np.int64)
        columns = [pa.nulls(rows.count, field.type.arrow()) for field in self.layout.fields]
        alive, dead = np.ones(rows.count, bool), []
        op, marks = np.full(rows.count, TUPLE, np.int8), None
        for name in rows.table.column_names:
            index = self.layout.column(name)
            values = _flat(rows.table.column(name))
            if index is None:  # the schema was checked when the file was opened: it is a marker column
                texts = values.cast(pa.string())
                if name == PUNCTUATE:
                    marks = texts
                    continue
                bad, reason = read_operations(texts, op), NOT_AN_OPERATION
            else:
                declared = self.layout.fields[index]
                columns[index], misfits = _convert(values, declared.type)
                if misfits is None:
                    continue
                bad, reason = misfits, f"column {declared.name}: the value is no {declared.type}"
            for at in np.flatnonzero(bad & alive).tolist():
                dead.append(DeadLine(rows.first + at, reason, rows.record(rows.first + at)))
            alive &= ~bad
        batch = pa.RecordBatch.from_arrays(columns, schema=self.layout.schema)
        if dead:
            batch, lines, op = batch.filter(pa.array(alive)), lines[alive], op[alive]
            marks = None if marks is None else marks.filter(pa.array(alive))
        parsed = separate_marked(self.layout, rows.path, batch, lines, op, marks, rows.record)
        return replace(parsed, dead=sorted(parsed.dead + dead))


def _counted(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as numbers of their units, anything else as it is."""
    wide = pa.types.is_timestamp(column.type) or pa.types.is_date64(column.type)
    numbers = pa.int64() if wide else pa.int32()
    return column.cast(numbers) if wide or pa.types.is_date32(column.type) else column


def _flat(column: pa.ChunkedArray) -> pa.Array:
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # which would copy
    array = pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def _convert(values: pa.Array, kind: Type) -> tuple[pa.Array, BoolArray | None]:
    """The values as the declared type, and a mask of those that do not fit; None instead of an empty mask."""
    try:
        converted = _cast(values, kind)
    except pa.ArrowInvalid:
        converted = pa.array([_cast_one(value, kind) for value in values], kind.arrow())
    if kind.kind in _CALENDAR:
        first, last = (pa.scalar(end, kind.arrow()) for end in _CALENDAR[kind.kind])
        within = pc.and_(pc.greater_equal(converted, first), pc.less_equal(converted, last))
        converted = pc.if_else(within, converted, pa.scalar(None, kind.arrow()))
    if converted.null_count == values.null_count:  # what is NULL stays so
        return converted, None
    bad = pc.and_(pc.is_valid(values), pc.is_null(converted))
    return converted, bad.to_numpy(zero_copy_only=False)


def _cast(values: pa.Array, kind: Type) -> pa.Array:
    if pa.types.is_timestamp(values.type) and values.type.tz is None:
        values = values.cast(pa.timestamp(values.type.unit, tz="UTC"))
    return values.cast(kind.arrow())


def _cast_one(value: pa.Scalar, kind: Type) -> Any:
    try:
        return _cast(pa.array([value.as_py()], value.type), kind)[0].as_py()
    except (pa.ArrowInvalid, OverflowError, ValueError):
        return None


def check_schema(path: str, schema: pa.Schema, layout: RecordLayout) -> None:
    """Raise an error for unknown or duplicate columns, a missing timestamp, or types that cannot fit."""
    seen: set[int] = set()
    for field in schema:
        index = layout.column(field.name)
        if index is None and field.name in MARKERS and layout.time is not None and _is_text(field.type):
            continue
        if index is None:
            raise SourceError(
                path, f"{path}: unknown column '{field.name}'", hint="declare it or leave it out of the file"
            )
        if index in seen:
            raise SourceError(path, f"{path}: column '{layout.fields[index].name}' is there twice")
        seen.add(index)
        declared = layout.fields[index]
        if not _fits(field.type, declared.type):
            raise SourceError(
                path, f"{path}: column '{field.name}' has type {field.type}, not {declared.type}"
            )
    if layout.time is not None and layout.time not in seen:
        raise SourceError(
            path, f"{path}: the timestamp column '{layout.fields[layout.time].name}' is missing"
        )


def _is_text(arrow: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(arrow):
        return _is_text(arrow.value_type)
    return bool(
        types.is_string(arrow)
        or types.is_large_string(arrow)
        or types.is_string_view(arrow)
        or types.is_null(arrow)
    )


def _fits(arrow: pa.DataType, wanted: Type) -> bool:
    """Whether values of an Arrow type can be values of the declared type."""
    types = pa.types
    if types.is_dictionary(arrow):
        return _fits(arrow.value_type, wanted)
    if types.is_null(arrow):
        return True
    accepted: dict[Kind, bool] = {
        Kind.BOOLEAN: types.is_boolean(arrow),
        Kind.INT: types.is_integer(arrow),
        Kind.BIGINT: types.is_integer(arrow),
        Kind.DOUBLE: types.is_floating(arrow) or types.is_integer(arrow),
        Kind.DECIMAL: types.is_decimal(arrow) or types.is_integer(arrow),
        Kind.STRING: _is_text(arrow),
        Kind.XML: _is_text(arrow),
        Kind.DATE: types.is_date(arrow),
        Kind.TIMESTAMP: types.is_timestamp(arrow),
    }
    return accepted.get(wanted.kind, False)
