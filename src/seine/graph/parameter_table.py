"""Parameter tables: the constants of conditions of one shape, a row for each; a query is a row.

Conditions that differ in constants alone have one shape; each of them is a row of its table. A
row is there as long as some query claims it, and its number is never given twice.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from seine.algebra.expressions import Literal, value_from_json, value_to_json
from seine.algebra.types import Type


class TableRow(Struct, frozen=True, array_like=True):
    """A row as it is kept: its number, its constants as JSON values, and how often each query claims it."""

    number: int
    values: list[Any]
    claims: dict[str, int]


class TableRecord(Struct, frozen=True):
    """A table as it is kept: the types of its columns as text, the number of the next new row, its rows."""

    types: list[str]
    next: int
    rows: list[TableRow]


class ParameterTable:
    """Rows of constants by number, each with the queries that claim it and how often."""

    def __init__(self, types: Sequence[Type]) -> None:
        self.types = tuple(types)
        self.rows: dict[int, tuple[Any, ...]] = {}
        self.claims: dict[int, dict[str, int]] = {}
        self._numbers: dict[Hashable, int] = {}
        self._next = 0

    def claim(self, constants: Sequence[Literal], query: str) -> int:
        """The number of the row with these constants, which is there from now on for this query too."""
        values = tuple([literal.value for literal in constants])
        key = _key(values)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._next
            self._next += 1
            self.rows[number] = values
            self.claims[number] = {}
        claims = self.claims[number]
        claims[query] = claims.get(query, 0) + 1
        return number

    def release(self, number: int, query: str) -> None:
        """Undo one claim."""
        claims = self.claims[number]
        claims[query] -= 1
        if not claims[query]:
            del claims[query]
        if not claims:
            del self._numbers[_key(self.rows.pop(number))], self.claims[number]

    def forget(self, query: str) -> None:
        """Undo all claims of a query."""
        for number in [number for number, claims in self.claims.items() if query in claims]:
            del self.claims[number][query]
            if not self.claims[number]:
                self.drop(number)

    def holds(self, values: tuple[Any, ...]) -> bool:
        """Whether there is a row of these constants."""
        return _key(values) in self._numbers

    def __iter__(self) -> Iterator[int]:
        """The numbers of the rows, ascending."""
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, number: int) -> TableRow:
        """A row with its number and queries; `put` takes it back."""
        values = [value_to_json(value) for value in self.rows[number]]
        return TableRow(number, values, dict(self.claims[number]))

    def put(self, row: TableRow) -> None:
        """Set a row as it was kept; one that stands keeps its place."""
        number = row.number
        typed = tuple(value_from_json(v, t) for v, t in zip(row.values, self.types, strict=True))
        self.rows[number] = typed
        self.claims[number] = dict(row.claims)
        self._numbers[_key(typed)] = number
        self._next = max(self._next, number + 1)

    def drop(self, number: int) -> None:
        """Remove a row, if it is there, whoever claims it."""
        if number in self.rows:
            del self._numbers[_key(self.rows.pop(number))], self.claims[number]

    def copy(self) -> ParameterTable:
        """A table of its own with the same rows."""
        twin = ParameterTable(self.types)
        twin.rows, twin.claims, twin._numbers = dict(self.rows), dict(self.claims), dict(self._numbers)
        twin._next = self._next
        return twin

    def part(self, numbers: Iterable[int]) -> ParameterTable:
        """A table of its own with some of the rows, under the same numbers.

        >>> table = ParameterTable([])
        >>> len(table.part([])), len(table.part([table.claim([], "q")]))
        (0, 1)
        """
        part = ParameterTable(self.types)
        for number in numbers:
            values = self.rows[number]
            part.rows[number], part.claims[number] = values, dict(self.claims[number])
            part._numbers[_key(values)] = number
        part._next = self._next
        return part

    def record(self) -> TableRecord:
        """All of the table; `of` makes one like it."""
        return TableRecord([str(type_) for type_ in self.types], self._next, [self.row(i) for i in self.rows])

    @staticmethod
    def of(record: TableRecord) -> ParameterTable:
        table = ParameterTable([Type.parse(text) for text in record.types])
        for row in record.rows:
            table.put(row)
        table._next = record.next
        return table


def _key(values: tuple[Any, ...]) -> Hashable:
    """Equal for constants that can stand for each other: 0.0 is not -0.0, and NaN is NaN."""
    return tuple([repr(v) if isinstance(v, float) else (type(v), v) for v in values])
