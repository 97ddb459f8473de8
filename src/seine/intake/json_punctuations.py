"""A bulk parser of the punctuation lines of JSON Lines into Arrow columns.

Law: it accepts lines only if the reference parser (`json_line.py`) would read them alike. Which attributes
a line binds is inferred from the values that are not NULL, so no name may stand in the text without a
value. That is so if the text has exactly as many strings as there are marks, names of values and string
values, and has no escapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, IntArray
from seine.algebra.types import Kind, Type
from seine.intake.line_block import LineBlock
from seine.intake.line_text import Text
from seine.intake.parsed import Parsed, ParsedLines, event_times, no_lines, null_places, refuse_times
from seine.intake.record_layout import RecordLayout

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
        bound = self._bound(flat(table.column(MARK)))
        if times is None or bound is None or b"\\" in data or not self._names_have_values(data, bound, times):
            return None
        rows = pa.RecordBatch.from_arrays(list(bound.columns.values()), schema=self.layout.punctuated_schema)
        lines = ParsedLines(rows, bound.schemes, event_times(times), chosen + block.first)
        lines, dead = refuse_times(lines, null_places(times), block.record)
        return Parsed(block.path, no_lines(self.layout.schema, np.int8), lines, dead, block.record)

    def _bound(self, objects: pa.Array) -> PunctuationColumns | None:
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
