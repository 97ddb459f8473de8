"""The SQL data types of columns and expressions, and the Arrow types that hold their values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, ClassVar

import pyarrow as pa

CAST_TYPES = "BOOLEAN, INT, BIGINT, DOUBLE, DECIMAL(p,s), STRING, DATE, TIMESTAMP"
_JSON_HINT = "STRING, a JSON text: get_json_object(text, '$.a'), from_json(text, 'a INT').a"
_LIST_HINT = "STRING: split(text, ','), or a JSON array and get_json_object(text, '$[0]')"
_HOLDERS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "BYTE", "SHORT", "INT2", "INT4", "INT16", "INT32"), "INT"),
    **dict.fromkeys(("INT64", "INT8", "UINT", "UINT32", "SERIAL", "BIGSERIAL"), "BIGINT"),
    **dict.fromkeys(("UINT64", "UBIGINT", "HUGEINT", "INT128"), "DECIMAL(20,0)"),
    **dict.fromkeys(("FLOAT", "REAL", "FLOAT4", "FLOAT8", "FLOAT64"), "DOUBLE"),
    **dict.fromkeys(("NUMBER", "MONEY", "BIGDECIMAL"), "DECIMAL(p,s)"),
    **dict.fromkeys(("CHAR", "CHARACTER", "NCHAR", "NVARCHAR", "CLOB", "UUID", "ENUM", "INET"), "STRING"),
    **dict.fromkeys(("BOOL",), "BOOLEAN"),
    **dict.fromkeys(("BINARY", "VARBINARY", "BYTES", "BYTEA", "BLOB"), "STRING, as base64 or hex"),
    **dict.fromkeys(("DATETIME", "TIMESTAMPTZ", "TIMESTAMP_LTZ", "TIMESTAMPLTZ"), "TIMESTAMP"),
    **dict.fromkeys(("TIMESTAMP_NTZ", "TIMESTAMPNTZ"), "TIMESTAMP, whose clocks are UTC"),
    "TIME": "STRING, or INT seconds of the day",
    "INTERVAL": "BIGINT microseconds",
    **dict.fromkeys(("JSON", "JSONB", "VARIANT", "MAP", "STRUCT", "ROW", "OBJECT"), _JSON_HINT),
    **dict.fromkeys(("ARRAY", "MULTISET"), _LIST_HINT),
}


class Kind(Enum):
    """The kinds of types; only DECIMAL has parameters."""

    NULL = "NULL"
    BOOLEAN = "BOOLEAN"
    INT = "INT"
    BIGINT = "BIGINT"
    DOUBLE = "DOUBLE"
    DECIMAL = "DECIMAL"
    STRING = "STRING"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    XML = "XML"
    DAY_TIME = "DAY_TIME"  # INTERVAL DAY TO SECOND, microseconds
    YEAR_MONTH = "YEAR_MONTH"  # INTERVAL YEAR TO MONTH, months
    JSON = "JSON"  # text of a JSON value, which records take over as it is; operators make it, never users
    NUMBERS = "NUMBERS"  # a list of integers, between operators only
    TEXTS = "ARRAY<STRING>"  # within expressions only; records have it as JSON


@dataclass(frozen=True, init=False, eq=False)
class Type:
    """A scalar SQL type; only a DECIMAL has precision and scale.

    Interned: equal types are one object, so that expressions, which are compared all the time, compare them
    by identity.

    >>> Type.parse("DECIMAL(10,2)")
    Type(kind=<Kind.DECIMAL: 'DECIMAL'>, precision=10, scale=2)
    >>> str(Type.parse("DECIMAL(10,2)")), str(BIGINT)
    ('DECIMAL(10,2)', 'BIGINT')
    """

    kind: Kind
    precision: int = 0
    scale: int = 0
    _text: ClassVar[str]

    def __new__(cls, kind: Kind, precision: int = 0, scale: int = 0) -> Type:
        interned = _INTERNED_TYPES.get((kind, precision, scale))
        return _new_type(kind, precision, scale) if interned is None else interned

    def __reduce__(self) -> tuple[Any, ...]:
        return Type, (self.kind, self.precision, self.scale)

    def __str__(self) -> str:
        return self._text

    @staticmethod
    @cache
    def parse(text: str) -> Type:
        """The type that `str` prints as this text."""
        if text.startswith("DECIMAL("):
            precision, scale = text[8:-1].split(",")
            return Type(Kind.DECIMAL, int(precision), int(scale))
        return Type(Kind(text))

    @property
    def is_integer(self) -> bool:
        """INT or BIGINT."""
        return self.kind in (Kind.INT, Kind.BIGINT)

    @property
    def is_numeric(self) -> bool:
        """INT, BIGINT, DOUBLE or DECIMAL."""
        return self.kind in (Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL)

    @property
    def is_text(self) -> bool:
        """STRING or XML."""
        return self.kind in (Kind.STRING, Kind.XML)

    @property
    def is_temporal(self) -> bool:
        """DATE or TIMESTAMP."""
        return self.kind in (Kind.DATE, Kind.TIMESTAMP)

    def arrow(self) -> pa.DataType:
        """The Arrow type that holds values of this type."""
        if self.kind is Kind.DECIMAL:
            return pa.decimal128(self.precision, self.scale)
        return _ARROW[self.kind]


_INTERNED_TYPES: dict[tuple[Kind, int, int], Type] = {}  # no more than there are decimals


def _new_type(kind: Kind, precision: int, scale: int) -> Type:
    decimal = kind is Kind.DECIMAL
    if decimal and not (1 <= precision <= 38 and 0 <= scale <= precision):
        raise ValueError(f"DECIMAL({precision},{scale}) is outside DECIMAL(38,38)")
    if not decimal and (precision or scale):
        raise ValueError(f"{kind.value} takes no precision")
    type_ = object.__new__(Type)
    attributes = type_.__dict__  # from now on it is frozen
    attributes["kind"] = kind
    attributes["precision"] = precision
    attributes["scale"] = scale
    attributes["_text"] = f"DECIMAL({precision},{scale})" if decimal else kind.value
    return _INTERNED_TYPES.setdefault((kind, precision, scale), type_)


_ARROW = {
    Kind.NULL: pa.null(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    Kind.XML: pa.string(),
    Kind.DAY_TIME: pa.duration("us"),
    Kind.YEAR_MONTH: pa.int32(),
    Kind.JSON: pa.string(),
    Kind.NUMBERS: pa.list_(pa.int64()),
    Kind.TEXTS: pa.list_(pa.string()),
}

NULL = Type(Kind.NULL)
BOOLEAN = Type(Kind.BOOLEAN)
INT = Type(Kind.INT)
BIGINT = Type(Kind.BIGINT)
DOUBLE = Type(Kind.DOUBLE)
STRING = Type(Kind.STRING)
DATE = Type(Kind.DATE)
TIMESTAMP = Type(Kind.TIMESTAMP)
XML = Type(Kind.XML)
DAY_TIME = Type(Kind.DAY_TIME)
YEAR_MONTH = Type(Kind.YEAR_MONTH)
JSON = Type(Kind.JSON)
NUMBERS = Type(Kind.NUMBERS)
TEXTS = Type(Kind.TEXTS)


@dataclass(frozen=True)
class Field:
    """A named, typed column of a schema."""

    name: str
    type: Type


def holder_hint(name: str) -> str | None:
    """What to write instead of a type of another dialect; None for a name that is none.

    >>> holder_hint("datetime"), holder_hint("int64"), holder_hint("strng")
    ('write TIMESTAMP', 'write BIGINT', None)
    """
    holder = _HOLDERS.get(name.upper())
    return None if holder is None else f"write {holder}"
