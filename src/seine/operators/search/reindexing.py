"""Held tuples get the places of edges that came after them: their keys are read from their texts again.

It happens once after a change of the schema, in every bucket, and costs what the window holds.

Cites: SKWS 4.4 (changes of the schema)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.types import Kind, Type
from seine.evaluate.data_columns import DataColumns
from seine.operators.search.known_tuples import CARRIED
from seine.operators.search.tuple_columns import KEYS, PLACES, SIDES, TABLE, TEXT
from seine.operators.search.watch_step import places_of, sides_of
from seine.operators.search.watched_schema import WatchedSchema, WatchedTable

_READ: dict[Kind, Callable[[Any], Any]] = {
    Kind.DOUBLE: float,
    Kind.DECIMAL: Decimal,
    Kind.DATE: lambda text: int(np.datetime64(text, "D").astype(np.int64)),
    Kind.TIMESTAMP: lambda text: int(np.datetime64(text.removesuffix("Z"), "us").astype(np.int64)),
}
_COUNTED = {Kind.DATE: pa.int32(), Kind.TIMESTAMP: pa.int64()}  # any year: Python's own dates end with 9999


def reindexed(rows: pa.RecordBatch, schema: WatchedSchema) -> list[pa.RecordBatch]:
    """Held tuples, table by table, with the places that they have by the edges of a schema."""
    tables = rows[TABLE].to_numpy()
    parts = [(table, np.flatnonzero(tables == table.number)) for table in schema.streams]
    return [_placed(rows.take(pa.array(chosen)), table, schema) for table, chosen in parts if len(chosen)]


def _placed(rows: pa.RecordBatch, table: WatchedTable, schema: WatchedSchema) -> pa.RecordBatch:
    sides = sides_of(schema.edges, table)
    keys = sorted({column for side in sides for column in side.key.columns})
    objects = [json.loads(text, parse_float=Decimal)["row"] for text in rows[TEXT].to_pylist()]
    values = {f"c{i}": values_of(objects, table.names[i], table.types[i]) for i in keys}
    batch = pa.record_batch(values) if values else rows.select([])
    found_places = places_of(sides, DataColumns(batch), rows.num_rows)
    places = dict(zip((PLACES, SIDES, KEYS), found_places, strict=True))
    arrays = [places[name] if name in places else rows[name] for name in CARRIED]
    return pa.RecordBatch.from_arrays(arrays, names=CARRIED)


def values_of(objects: Sequence[dict[str, Any]], name: str, type_: Type) -> pa.Array:
    """A column of tuples as they were before they became text.

    >>> from seine.algebra.types import DATE
    >>> values_of([{"day": "2024-02-29"}, {"day": None}], "day", DATE).to_pylist()
    [datetime.date(2024, 2, 29), None]
    >>> values_of([{"day": "12024-02-29"}], "day", DATE).cast("int32").to_pylist()
    [3672207]
    """
    read = _READ.get(type_.kind, lambda value: value)
    values = [row[name] for row in objects]
    known = [None if value is None else read(value) for value in values]
    return pa.array(known, _COUNTED.get(type_.kind, type_.arrow())).view(type_.arrow())
