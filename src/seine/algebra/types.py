"""The SQL data types of columns and expressions, and the Arrow types that hold their values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import ClassVar

import pyarrow as pa


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


@dataclass(frozen=True)
class Type:
    """A scalar SQL type; only a DECIMAL has precision and scale.

    >>> Type.parse("DECIMAL(10,2)")
    Type(kind=<Kind.DECIMAL: 'DECIMAL'>, precision=10, scale=2)
    >>> str(Type.parse("DECIMAL(10,2)")), str(BIGINT)
    ('DECIMAL(10,2)', 'BIGINT')
    """

    kind: Kind
    precision: int = 0
    scale: int = 0
    _hash: ClassVar[int]
    _text: ClassVar[str]

    def __post_init__(self) -> None:
        decimal = self.kind is Kind.DECIMAL
        if decimal and not (1 <= self.precision <= 38 and 0 <= self.scale <= self.precision):
            raise ValueError(f"DECIMAL({self.precision},{self.scale}) is outside DECIMAL(38,38)")
        if not decimal and (self.precision or self.scale):
            raise ValueError(f"{self.kind.value} takes no precision")
        kind: str = self.kind.value
        attributes = self.__dict__  # frozen, but these follow from the fields
        attributes["_hash"] = hash((kind, self.precision, self.scale))
        attributes["_text"] = f"DECIMAL({self.precision},{self.scale})" if decimal else kind

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Type) or self.kind is not other.kind:
            return False
        return self.precision == other.precision and self.scale == other.scale

    def __hash__(self) -> int:
        return self._hash

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
