"""Schemas of Avro records: `FORMAT AVRO WITH (schema = 'bid.avsc')`, one column for each field.

    int, long                   INT, BIGINT, DOUBLE, DECIMAL    if the value is exact there
    float, double               DOUBLE
    string, enum                STRING, XML
    boolean                     BOOLEAN
    date                        DATE
    timestamp-*, local-timestamp-*   TIMESTAMP
    decimal (bytes, fixed)      DECIMAL                         likewise
    ["null", any of these]      the same, and NULL

Law: whatever is accepted has one Arrow type for all of its values; anything else is a ValueError of one line.
A schema is that with which records were written: every field of it must be a column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from seine.algebra.types import Field, Kind

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_BYTES = 16  # of a decimal: 38 digits
_PLAIN: Mapping[str, pa.DataType] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
}
_LOGICAL: Mapping[tuple[str, str], pa.DataType] = {
    ("int", "date"): pa.date32(),
    **{("long", f"timestamp-{unit}s"): pa.timestamp(short, "UTC")
       for unit, short in (("milli", "ms"), ("micro", "us"), ("nano", "ns"))},
    **{("long", f"local-timestamp-{unit}s"): pa.timestamp(short)
       for unit, short in (("milli", "ms"), ("micro", "us"), ("nano", "ns"))},
}  # fmt: skip
_WITHOUT_COLUMNS = ("time-millis", "time-micros", "duration")
_INTEGERS = (Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL)
_KINDS: Mapping[str, tuple[Kind, ...]] = {
    "null": tuple(Kind),
    "boolean": (Kind.BOOLEAN,),
    "int": _INTEGERS,
    "long": _INTEGERS,
    "float": (Kind.DOUBLE,),
    "double": (Kind.DOUBLE,),
    "string": (Kind.STRING, Kind.XML),
    "enum": (Kind.STRING, Kind.XML),
    "bytes": (Kind.DECIMAL,),
    "fixed": (Kind.DECIMAL,),
}


@dataclass(frozen=True)
class AvroType:
    """A scalar type: how it is written, and the Arrow type of its values."""

    written: str  # a primitive type of Avro's, "enum" or "fixed"
    arrow: pa.DataType
    symbols: tuple[str, ...] = ()  # of an enum
    size: int = 0  # of a fixed

    def __str__(self) -> str:
        return (
            self.written if self.arrow in (*_PLAIN.values(), pa.utf8()) else f"{self.written} ({self.arrow})"
        )

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of columns that take its values."""
        if pa.types.is_date(self.arrow):
            return (Kind.DATE,)
        return (Kind.TIMESTAMP,) if pa.types.is_timestamp(self.arrow) else _KINDS[self.written]


@dataclass(frozen=True)
class AvroField:
    """A field of a record; of a union, `null` is the place of its branch null, and `branches` how many."""

    name: str
    type: AvroType
    branches: int = 0
    null: int | None = None


def read_avro_schema(text: str) -> tuple[AvroField, ...]:
    """The fields of a record, in order; a ValueError says in one line what cannot be read.

    >>> [field.name for field in read_avro_schema(
    ...     '{"type": "record", "name": "Bid", "fields": [{"name": "ts", "type": ["null", "long"]}]}')]
    ['ts']
    """
    try:
        form = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("the schema is no JSON") from None
    if not isinstance(form, dict) or form.get("type") != "record":
        raise ValueError("the schema is no record of Avro's")
    fields = form.get("fields")
    if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
        raise ValueError("the schema has no list of fields")
    named: dict[str, AvroType | None] = {_full_name(form, ""): None}
    space = _full_name(form, "").rpartition(".")[0]
    read = tuple(_read_field(field, named, space) for field in fields)
    names = [field.name for field in read]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"the schema has the field {twice} twice")
    return read


def check_columns(avro: Sequence[AvroField], columns: Sequence[Field], time: int) -> None:
    """Refuse a schema whose fields are not columns of a stream; `time` is its timestamp column."""
    places = [_column(field.name, columns) for field in avro]
    for field, place in zip(avro, places, strict=True):
        if place is None:
            raise ValueError(f"the field {field.name} of the schema is no column: declare it")
        if columns[place].type.kind not in field.type.kinds:
            kind = columns[place].type
            raise ValueError(f"column {columns[place].name} is {kind}, and the schema has {field.type}")
    if twice := next((place for place in places if places.count(place) > 1), None):
        raise ValueError(f"column {columns[twice].name} is twice in the schema")
    if time not in places:
        raise ValueError(f"the schema has no field for the timestamp column {columns[time].name}")


def _column(name: str, columns: Sequence[Field]) -> int | None:
    """The column of a name; in any case, if only one is equal to it but for case."""
    exact = [place for place, column in enumerate(columns) if column.name == name]
    folded = [place for place, column in enumerate(columns) if column.name.lower() == name.lower()]
    return exact[0] if exact else folded[0] if len(folded) == 1 else None


def _full_name(form: Mapping[str, Any], space: str) -> str:
    """The name of a named type with its namespace."""
    name = form.get("name")
    parts = name.split(".") if isinstance(name, str) else [""]
    if not all(map(_NAME.fullmatch, parts)):
        raise ValueError("a type of the schema has no name")
    space = form["namespace"] if isinstance(form.get("namespace"), str) else space
    return ".".join(parts) if len(parts) > 1 or not space else f"{space}.{parts[0]}"


def _read_field(form: Mapping[str, Any], named: dict[str, AvroType | None], space: str) -> AvroField:
    name = form.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError("a field of the schema has no name")
    kind = form.get("type")
    if not isinstance(kind, list):
        return AvroField(name, _read_type(name, kind, named, space))
    types = [_read_type(name, branch, named, space) for branch in kind]
    nulls = [place for place, one in enumerate(types) if one.written == "null"]
    others = [one for one in types if one.written != "null"]
    if len(nulls) > 1 or len(others) != 1:
        raise ValueError(f"the field {name} is a union: only null beside one type can be a column")
    return AvroField(name, others[0], len(types), nulls[0] if nulls else None)


def _read_type(name: str, form: object, named: dict[str, AvroType | None], space: str) -> AvroType:
    """A scalar type; types with names may be used again by name."""
    logical = form.get("logicalType") if isinstance(form, dict) else None
    written = form.get("type") if isinstance(form, dict) else form
    if logical in _WITHOUT_COLUMNS:
        raise ValueError(f"the field {name} is a {logical}: no column has such values")
    if written in ("enum", "fixed") and isinstance(form, dict):
        known = _full_name(form, space)
        named[known] = _enum(name, form) if written == "enum" else _decimal(name, form)
        return named[known] or _refused(name, written)
    if not isinstance(written, str):
        raise _refusal(name, "union" if isinstance(written, list) else "type within a type")
    if written == "bytes":
        return _decimal(name, form if isinstance(form, dict) else {})
    if written in _PLAIN:
        return AvroType(written, _LOGICAL.get((written, str(logical)), _PLAIN[written]))
    known = written if "." in written or not space else f"{space}.{written}"
    return named.get(known) or _refused(name, "record" if known in named else written)


def _enum(name: str, form: Mapping[str, Any]) -> AvroType:
    symbols = form.get("symbols")
    if not isinstance(symbols, list) or not symbols or not all(isinstance(one, str) for one in symbols):
        raise ValueError(f"the field {name} is an enum without symbols")
    return AvroType("enum", pa.string(), tuple(symbols))


def _decimal(name: str, form: Mapping[str, Any]) -> AvroType:
    """Bytes, or a fixed number of them, that are a decimal; no other bytes can be a column."""
    written = str(form.get("type", "bytes"))
    if form.get("logicalType") != "decimal":
        _refused(name, written)
    precision, scale, size = form.get("precision", 0), form.get("scale", 0), form.get("size", 0)
    whole = all(isinstance(one, int) and not isinstance(one, bool) for one in (precision, scale, size))
    if not whole or not 1 <= precision <= 38 or not 0 <= scale <= precision:
        raise ValueError(f"the field {name} is a decimal outside DECIMAL(38,38)")
    if written == "fixed" and not 1 <= size <= _MOST_BYTES:
        raise ValueError(f"the field {name} is a decimal of {size} bytes: 1 to {_MOST_BYTES} can be read")
    return AvroType(written, pa.decimal128(precision, scale), size=size)


def _refused(name: str, written: str) -> AvroType:
    raise _refusal(name, written)


def _refusal(name: str, written: str) -> ValueError:
    return ValueError(f"the field {name} is of type {written[:60]}: columns are scalars")
