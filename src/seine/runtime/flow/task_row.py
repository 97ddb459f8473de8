"""The one kind of row that moves between Spark stages."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

ARROW_SCHEMA = pa.schema([("bucket", pa.int32()), ("stage", pa.int32()), ("blob", pa.binary())])

CONTROL = -1  # stage number of the record that every bucket of every stage gets in every batch
REPORT = 0  # stage number of what a task reports to the sink

Row = tuple[int, int, bytes]


def to_batch(rows: Iterable[Row]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, ARROW_SCHEMA, strict=True)],
        schema=ARROW_SCHEMA,
    )
