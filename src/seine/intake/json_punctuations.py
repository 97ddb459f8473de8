"""Punctuation lines of JSON Lines into Arrow, many at once.

Law: as for tuples, what the exact way would read otherwise, or not at all, is left to it. Which attributes a
line binds is told by those that are not NULL: so every name must stand in the text as often as there
are values of it, and no name may be written with escapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.types import Type
from seine.intake.block import Block
from seine.intake.layout import Layout
from seine.intake.parsed import PUNCTUATION, Parsed, event_times, refuse_times

MARK = "@punctuate"
Typed = Callable[[pa.Array, Type], pa.Array | None]


class Bound(NamedTuple):
    """Typed columns by position, and the number of the scheme of each line."""

    columns: dict[int, pa.Array]
    schemes: np.ndarray


class JsonPunctuations:
    """What is read of a punctuation: the attributes of any scheme, and the timestamp."""

    def __init__(self, layout: Layout, read_as: Callable[[Type], pa.DataType], typed: Typed) -> None:
        """`read_as` says as what Arrow's reader gives a type, and `typed` makes the type of it."""
        self.layout = layout
        self._typed = typed
        self._columns = sorted({column for scheme in layout.schemes for column in scheme.columns})
        named = [(layout.fields[c].name, read_as(layout.fields[c].type)) for c in self._columns]
        fields = [pa.field(MARK, pa.struct([pa.field(*pair) for pair in named]))]
        if layout.time is not None:
            time = layout.fields[layout.time]
            fields.append(pa.field(time.name, read_as(time.type)))
        self.schema = pa.schema(fields)

    def parsed(self, table: pa.Table, data: bytes, block: Block, chosen: np.ndarray) -> Parsed | None:
        """Lines as Arrow's reader gave them; None if the exact way has to look at them."""
        assert self.layout.time is not None
        declared = self.layout.fields[self.layout.time]
        times = self._typed(flat(table.column(declared.name)), declared.type)
        bound = self._bound(flat(table.column(MARK)))
        if times is None or bound is None or b"\\" in data or not self._are_told(data, bound, times):
            return None
        count = len(chosen)
        arrays = [
            bound.columns.get(i, pa.nulls(count, field.type.arrow()))
            for i, field in enumerate(self.layout.fields)
        ]
        parsed = Parsed(
            block.path,
            pa.RecordBatch.from_arrays(arrays, schema=self.layout.schema),
            np.full(count, PUNCTUATION, np.int8),
            event_times(times),
            bound.schemes,
            chosen + block.first,
            [],
            block.record,
        )
        return refuse_times(parsed, times.is_null().to_numpy(zero_copy_only=False))

    def _bound(self, objects: pa.Array) -> Bound | None:
        columns: dict[int, pa.Array] = {}
        given = np.zeros(len(objects), np.int64)  # a bit for each attribute
        for place, (index, values) in enumerate(zip(self._columns, objects.flatten(), strict=True)):
            column = self._typed(values, self.layout.fields[index].type)
            if column is None:
                return None
            columns[index] = column
            given |= column.is_valid().to_numpy(zero_copy_only=False).astype(np.int64) << place
        schemes = np.full(len(objects), -1, np.int16)
        for number in reversed(range(len(self.layout.schemes))):
            schemes[given == self._bits(number)] = number
        return None if (schemes < 0).any() else Bound(columns, schemes)

    def _bits(self, scheme: int) -> int:
        return sum(1 << self._columns.index(column) for column in set(self.layout.schemes[scheme].columns))

    def _are_told(self, data: bytes, bound: Bound, times: pa.Array) -> bool:
        """Whether all names that stand there have a value."""
        told = {index: len(column) - column.null_count for index, column in bound.columns.items()}
        assert self.layout.time is not None
        told[self.layout.time] = told.get(self.layout.time, 0) + len(times) - times.null_count
        names = {index: self.layout.fields[index].name.encode() for index in told}
        return all(data.count(b'"' + names[index] + b'"') == count for index, count in told.items())


def flat(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)
