"""A CSV parser into Arrow columns: one record a line, an empty field is NULL, types are strict."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv

from seine.algebra.arrays import BoolArray, IntArray
from seine.errors import SourceError
from seine.intake.line_block import LINE_LIMIT, LineBlock
from seine.intake.marked_rows import MARKERS, NOT_AN_OPERATION, OP, read_operations, separate_marked
from seine.intake.parsed import TUPLE, DeadLine, Parsed, shorten
from seine.intake.record_layout import RecordLayout
from seine.intake.text_values import read_text

_SPLIT_INTO = 16


class CsvLines:
    """Parses blocks of CSV lines against a record layout; columns `@op` and `@punctuate` mark negative
    tuples and punctuations.

    A quoted empty field is the empty string, an unquoted one NULL; a field may not span lines.
    """

    def __init__(self, layout: RecordLayout, delimiter: str = ",") -> None:
        self.layout = layout
        self.delimiter = delimiter

    def parse(self, block: LineBlock) -> Parsed:
        """The typed rows of a block, and its malformed lines with reasons."""
        positions = self.positions(block.path, block.header)
        dead: list[DeadLine] = []
        tables: list[tuple[IntArray, pa.Table]] = []
        too_long = (block.ends - block.starts > LINE_LIMIT) | (block.skipped is not None)
        _reject(block, np.flatnonzero(too_long), f"the line is longer than {LINE_LIMIT} bytes", dead)
        self._split(block, np.flatnonzero(_present_lines(block) & ~too_long), len(positions), tables, dead)
        lines = np.concatenate([np.array([], np.int64), *[numbers for numbers, _ in tables]]) + block.first
        table = pa.concat_tables([_fields_schema(len(positions)).empty_table(), *[t for _, t in tables]])
        return self._typed(block, positions, lines, table, dead)

    def positions(self, path: str, header: tuple[str, ...] | None) -> list[int | str]:
        """For each field of a record, the position of its column, or the name of a marker column.

        Refuses a wrong header.
        """
        if header is None:
            return list(range(len(self.layout.fields)))
        positions: list[int | str] = []
        for name in header:
            index = self.layout.column(name.strip())
            if index is None and name.strip() not in MARKERS:
                raise SourceError(
                    path,
                    f"{path}: the header names an unknown column '{shorten(name.encode())}'",
                    hint="declare it, or set the option header = 'false' if the file has no header line",
                )
            positions.append(name.strip() if index is None else index)
        if len(set(positions)) < len(positions):
            raise SourceError(path, f"{path}: the header names a column twice")
        if header and self.layout.time is not None and self.layout.time not in positions:
            name = self.layout.fields[self.layout.time].name
            raise SourceError(path, f"{path}: the header lacks the timestamp column '{name}'")
        return positions

    def _split(
        self,
        block: LineBlock,
        chosen: IntArray,
        width: int,
        tables: list[tuple[IntArray, pa.Table]],
        dead: list[DeadLine],
    ) -> None:
        """Read lines in bulk; where a record is malformed, read smaller parts until it is isolated."""
        if not len(chosen):
            return
        table = _read(b"\n".join([block.raw(i) for i in chosen.tolist()]), width, self.delimiter)
        if table is not None and table.num_rows == len(chosen):
            tables.append((chosen, table))
        elif len(chosen) == 1:
            _reject(block, chosen, f"the line is not a record of {width} fields", dead)
        else:
            for part in np.array_split(chosen, min(_SPLIT_INTO, len(chosen))):
                self._split(block, part, width, tables, dead)

    def _typed(
        self,
        block: LineBlock,
        positions: list[int | str],
        lines: IntArray,
        table: pa.Table,
        dead: list[DeadLine],
    ) -> Parsed:
        columns = [pa.nulls(len(lines), field.type.arrow()) for field in self.layout.fields]
        op, alive = np.full(len(lines), TUPLE, np.int8), np.ones(len(lines), bool)
        marks: pa.Array | None = None
        for field, index in enumerate(positions):
            texts = pa.concat_arrays(table.column(field).chunks)
            if index == OP:
                bad, reason = read_operations(texts, op), NOT_AN_OPERATION
            elif isinstance(index, str):
                marks = texts
                continue
            else:
                declared = self.layout.fields[index]
                columns[index], bad = read_text(texts, declared.type)
                reason = f"column {declared.name}: the field is no {declared.type}"
            _reject(block, lines[bad & alive] - block.first, reason, dead)
            alive &= ~bad
        rows = pa.RecordBatch.from_arrays(columns, schema=self.layout.schema).filter(pa.array(alive))
        marks = None if marks is None else marks.filter(pa.array(alive))
        parsed = separate_marked(self.layout, block.path, rows, lines[alive], op[alive], marks, block.record)
        return replace(parsed, dead=sorted(parsed.dead + dead))


def _reject(block: LineBlock, chosen: IntArray, reason: str, dead: list[DeadLine]) -> None:
    for index in chosen.tolist():
        dead.append(DeadLine(block.first + index, reason, block.record(block.first + index)))


def _fields_schema(width: int) -> pa.Schema:
    return pa.schema([(f"f{i}", pa.string()) for i in range(width)])


def _read(data: bytes, width: int, delimiter: str) -> pa.Table | None:
    """All fields as text; None unless every record has exactly `width` fields."""
    if data.count(b"\r") != data.count(b"\r\n") + data.endswith(b"\r") or b"\0" in data:
        return None
    schema = _fields_schema(width)
    try:
        return pcsv.read_csv(
            io.BytesIO(data),
            read_options=pcsv.ReadOptions(column_names=schema.names, block_size=len(data) + 1),
            parse_options=pcsv.ParseOptions(delimiter=delimiter),
            convert_options=pcsv.ConvertOptions(
                column_types=schema,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowException:
        return None


def _present_lines(block: LineBlock) -> BoolArray:
    """A mask of the lines that are not blank."""
    lengths = block.ends - block.starts
    first = np.frombuffer(block.data, np.uint8)[np.minimum(block.starts, max(len(block.data) - 1, 0))]
    present: BoolArray = lengths > 0
    for index in np.flatnonzero(present & np.isin(first, [9, 13, 32])).tolist():
        present[index] = bool(block.raw(index).strip())
    return present
