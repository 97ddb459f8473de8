"""Output records as an Arrow table: op, t_start, t_end and the row, with the types of the query.

The row is a struct of the query's columns; that of a SEARCH or XSCL query is its JSON text.
"""

from __future__ import annotations

import io
import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.json as pj

from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Query
from seine.algebra.search_plan import Search
from seine.algebra.types import Kind, Type
from seine.network.plan.output_form import form_of


def record_schema(query: Query) -> pa.Schema:
    """The columns of a query's records."""
    time = pa.timestamp("us", "UTC") if form_of(query).domain == "timestamp" else pa.int64()
    row: pa.DataType = pa.string()
    if not isinstance(query.plan, Search | DocumentQuery):
        row = pa.struct([(field.name, _column_type(field.type)) for field in query.record_fields])
    return pa.schema([("op", pa.string()), ("t_start", time), ("t_end", time), ("row", row)])


def _column_type(type_: Type) -> pa.DataType:
    """That of a column; intervals and values of JSON are texts."""
    return type_.arrow() if type_.kind in _TYPED else pa.string()


_TYPED = {
    *(Kind.BOOLEAN, Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL),
    *(Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.XML),
}


def record_table(lines: bytes, schema: pa.Schema) -> pa.Table:
    """The records of JSON Lines, with the types of a schema.

    >>> row = pa.struct([("a", pa.int64()), ("x", pa.float64())])
    >>> schema = pa.schema([("op", pa.string()), ("row", row)])
    >>> record_table(b'{"query": "q", "op": "+", "row": {"a": 1}}\\n', schema).to_pylist()
    [{'op': '+', 'row': {'a': 1, 'x': None}}]
    >>> record_table(b'{"query": "q", "op": "+", "row": {"x": "Infinity"}}\\n', schema).to_pylist()
    [{'op': '+', 'row': {'a': None, 'x': inf}}]
    """
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    block = pj.ReadOptions(block_size=max(len(lines), 1))
    if pa.types.is_struct(schema.field("row").type):
        try:
            return pj.read_json(io.BytesIO(lines), block, options).select(schema.names)
        except pa.ArrowInvalid:  # dates, and numbers that are not finite, are texts
            pass
    rows = [_typed_record(json.loads(line, parse_float=_ExactFloat), schema) for line in lines.splitlines()]
    return pa.Table.from_pylist(rows, schema)


class _ExactFloat(float):
    """A number with a point, and its text, which a decimal is made of."""

    def __new__(cls, text: str) -> _ExactFloat:
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str


def _typed_record(record: dict[str, Any], schema: pa.Schema) -> dict[str, Any]:
    return {field.name: _typed(record.get(field.name), field.type) for field in schema}


def _typed(value: Any, type_: pa.DataType) -> Any:
    """A value of JSON as Arrow takes it."""
    if value is None:
        return None
    if pa.types.is_struct(type_):
        return {field.name: _typed(value.get(field.name), field.type) for field in type_}
    if pa.types.is_floating(type_):
        return float(value)
    if pa.types.is_decimal(type_):
        return Decimal(value.text if isinstance(value, _ExactFloat) else value)
    if pa.types.is_date(type_):
        return date.fromisoformat(value)
    if pa.types.is_timestamp(type_):
        return datetime.fromisoformat(value)
    if pa.types.is_string(type_) and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return value
