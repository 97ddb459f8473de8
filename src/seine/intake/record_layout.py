"""The columns that a line is read against: names, types, the timestamp and the punctuation schemes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from seine.algebra.definitions import RelationDef, Scheme, StreamDef
from seine.algebra.types import Field
from seine.rows.delta import data_names


@dataclass(frozen=True)
class RecordLayout:
    """What a parser needs to know of a stream or a relation (which has no timestamp).

    A name matches exactly, or, where only one declared name has that spelling but for case, in any case.

    >>> from seine.algebra.types import BIGINT
    >>> layout = RecordLayout((Field("ts", BIGINT), Field("End", BIGINT), Field("end", BIGINT)))
    >>> [layout.column(name) for name in ("TS", "End", "end", "END")]
    [0, 1, 2, None]
    """

    fields: tuple[Field, ...]
    time: int | None = None
    schemes: tuple[Scheme, ...] = ()

    @staticmethod
    def of(definition: StreamDef | RelationDef) -> RecordLayout:
        if isinstance(definition, StreamDef):
            return RecordLayout(definition.fields, definition.time, definition.schemes)
        return RecordLayout(definition.fields)

    @cached_property
    def _exact(self) -> dict[str, int]:
        return {field.name: index for index, field in enumerate(self.fields)}

    @cached_property
    def _folded(self) -> dict[str, int | None]:
        columns: dict[str, int | None] = {}
        for index, field in enumerate(self.fields):
            key = field.name.lower()
            columns[key] = None if key in columns else index
        return columns

    def column(self, name: str) -> int | None:
        exact = self._exact.get(name)
        return exact if exact is not None else self._folded.get(name.lower())

    def scheme(self, columns: frozenset[int]) -> int | None:
        """The declared scheme that binds exactly these columns."""
        for index, scheme in enumerate(self.schemes):
            if frozenset(scheme.columns) == columns:
                return index
        return None

    @cached_property
    def schema(self) -> pa.Schema:
        types = [field.type.arrow() for field in self.fields]
        return pa.schema(list(zip(data_names(len(types)), types, strict=True)))

    @cached_property
    def punctuated(self) -> tuple[int, ...]:
        """The columns that some scheme binds: all that a punctuation can tell."""
        return tuple(sorted({column for scheme in self.schemes for column in scheme.columns}))

    @cached_property
    def punctuated_schema(self) -> pa.Schema:
        return pa.schema([self.schema.field(column) for column in self.punctuated])


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
