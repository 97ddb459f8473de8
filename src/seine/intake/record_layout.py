"""The schema that records are parsed against: names, types, the timestamp and the punctuation schemes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from seine.algebra.definitions import RelationDef, Scheme, StreamDef
from seine.algebra.types import Field
from seine.rows.delta import data_names


@dataclass(frozen=True)
class RecordLayout:
    """The schema of a stream, or of a relation, which has no timestamp.

    A name matches exactly; or in any case, if only one declared name is equal to it but for case.

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
        """The layout of a declared stream or relation."""
        if isinstance(definition, StreamDef):
            return RecordLayout(definition.declared, definition.time, definition.schemes)
        return RecordLayout(definition.fields)

    @cached_property
    def _exact(self) -> dict[str, int]:
        return {field.name: index for index, field in enumerate(self.fields)}

    @cached_property
    def _folded(self) -> dict[str, int | None]:
        positions: dict[str, int | None] = {}
        for index, field in enumerate(self.fields):
            key = field.name.lower()
            positions[key] = None if key in positions else index
        return positions

    def column(self, name: str) -> int | None:
        """The position of a column by name, or None."""
        exact = self._exact.get(name)
        return exact if exact is not None else self._folded.get(name.lower())

    def scheme(self, columns: frozenset[int]) -> int | None:
        """The number of the declared scheme that binds exactly these columns, or None."""
        for index, scheme in enumerate(self.schemes):
            if frozenset(scheme.columns) == columns:
                return index
        return None

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of tuples: c0, c1, .."""
        types = [field.type.arrow() for field in self.fields]
        return pa.schema(list(zip(data_names(len(types)), types, strict=True)))

    @cached_property
    def punctuated(self) -> tuple[int, ...]:
        """The positions of the columns that any scheme binds: those that a punctuation can have."""
        return tuple(sorted({column for scheme in self.schemes for column in scheme.columns}))

    @cached_property
    def punctuated_schema(self) -> pa.Schema:
        """The Arrow schema of punctuations: of c0, c1, .. those that any scheme binds."""
        return pa.schema([self.schema.field(column) for column in self.punctuated])


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """A batch of a schema without rows."""
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
