"""Parameter tables: a query is a row.

Conditions that differ in constants alone have one shape; each of them is a row of its table. A
row is there as long as some query claims it, and its number is never given twice.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from seine.algebra.expressions import Literal, value_from_json, value_to_json
from seine.algebra.types import Type


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
        values = tuple(literal.value for literal in constants)
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

    def row_to_json(self, number: int) -> list[Any]:
        """A row with its number and queries; `put` takes it back."""
        values = [value_to_json(value) for value in self.rows[number]]
        return [number, values, dict(self.claims[number])]

    def put(self, form: Sequence[Any]) -> None:
        """Set a row as it was printed; one that stands keeps its place."""
        number, values, claims = form
        typed = tuple(value_from_json(v, t) for v, t in zip(values, self.types, strict=True))
        self.rows[number] = typed
        self.claims[number] = dict(claims)
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

    def to_json(self) -> dict[str, Any]:
        rows = [self.row_to_json(number) for number in self.rows]
        return {"types": [str(type_) for type_ in self.types], "next": self._next, "rows": rows}

    @staticmethod
    def from_json(form: dict[str, Any]) -> ParameterTable:
        table = ParameterTable([Type.parse(text) for text in form["types"]])
        for row in form["rows"]:
            table.put(row)
        table._next = form["next"]
        return table


def _key(values: tuple[Any, ...]) -> Hashable:
    """Equal for constants that can stand for each other: 0.0 is not -0.0, and NaN is NaN."""
    return tuple(repr(v) if isinstance(v, float) else (type(v), v) for v in values)
