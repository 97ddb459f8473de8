"""All rows of one port in one step, as a chunked table: those held before, then those that arrived."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.rows.delta import FOREVER


class Extent:
    """Batches one after the other; a column is concatenated when it is first read.

    >>> extent = Extent([pa.record_batch({"_s": [3, 4]})], pa.record_batch({"_s": [5]}))
    >>> extent.held, extent.rows, extent.numbers("_s").tolist()
    (2, 3, [3, 4, 5])
    """

    def __init__(self, held: Sequence[pa.RecordBatch], came: pa.RecordBatch | None) -> None:
        self._batches = [*held, *([came] if came is not None else [])]
        self.held = sum(batch.num_rows for batch in held)
        self.rows = self.held + (came.num_rows if came is not None else 0)
        self._columns: dict[str, pa.Array] = {}

    def column(self, name: str, type_: pa.DataType) -> pa.Array:
        """A column; NULL in rows that are older than the first query that needs it."""
        if name not in self._columns:
            parts = [_part(batch, name, type_) for batch in self._batches if batch.num_rows]
            self._columns[name] = pa.concat_arrays(parts) if parts else pa.array([], type_)
        return self._columns[name]

    def numbers(self, name: str) -> IntArray:
        """A column of times or codes; FOREVER where it is NULL."""
        column = self.column(name, pa.int64())
        numbers: IntArray = (column.fill_null(FOREVER) if column.null_count else column).to_numpy()
        return numbers


def _part(batch: pa.RecordBatch, name: str, type_: pa.DataType) -> pa.Array:
    place = batch.schema.get_field_index(name)
    return batch.column(place) if place >= 0 else pa.nulls(batch.num_rows, type_)
