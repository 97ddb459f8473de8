"""Batched range scans of a b-tree: the first rows of many key ranges by one statement, nearest keys first.

A statement is a UNION ALL of ranges with a LIMIT each. Their number is rounded up with empty ranges, so
that a few compiled statements serve all searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, Integer, LargeBinary, bindparam, literal_column, select, union_all

from seine.catalog.index import index_tables as t
from seine.catalog.index.key_lines import Span

MOST_RANGES = 32  # in one statement


class ProbeRow(NamedTuple):
    """A row of a range: the number of its probe, its rank in the range, and the requested columns."""

    probe: int
    near: int
    values: tuple[Any, ...]


@dataclass(frozen=True)
class ProbeKind:
    """A kind of range scan: columns for owner (perhaps), line and key, the columns read, order and limit."""

    owner: Column[Any] | None
    line: Column[Any]
    key: Column[Any]
    wanted: tuple[Column[Any], ...]
    descending: bool
    limit: int

    def __hash__(self) -> int:
        return hash((self.line.table.name, self.descending, self.limit))


def continuations(*, descending: bool, limit: int) -> ProbeKind:
    """Scans the predicate sets that add one clause to the owner, by that clause."""
    of = t.predicate_set.c
    return ProbeKind(of.parent_id, of.term_id, of.key, (of.id, of.term_id, of.key), descending, limit)


def members(*, limit: int) -> ProbeKind:
    """Scans the predicate sets that have a clause in a range."""
    of = t.set_clause.c
    return ProbeKind(None, of.term_id, of.key, (of.set_id,), True, limit)


def alternatives(*, descending: bool, limit: int) -> ProbeKind:
    """Scans the clauses that have an alternative in a range."""
    of = t.alternative.c
    return ProbeKind(None, of.term_id, of.key, (of.clause_id,), descending, limit)


class Counter:
    """The cost of a search so far: probes made and rows read."""

    def __init__(self) -> None:
        self.steps = 0


def read(
    connection: Connection, kind: ProbeKind, probes: Sequence[tuple[bytes | None, Span]], counter: Counter
) -> list[ProbeRow]:
    """The nearest rows of each probe; a probe is an owner (or None) and a key range."""
    rows: list[ProbeRow] = []
    for start in range(0, len(probes), MOST_RANGES):
        portion = probes[start : start + MOST_RANGES]
        size = rounded(len(portion))
        values: dict[str, Any] = {}
        for number in range(size):
            owner, span = portion[number] if number < len(portion) else (b"", _EMPTY_SPAN)
            values.update({f"line{number}": span.line, f"low{number}": span.low, f"high{number}": span.high})
            if kind.owner is not None:
                values[f"owner{number}"] = owner
        seen = [0] * size
        for number, *row_values in _execute(connection, kind, size, values):
            rows.append(ProbeRow(start + number, seen[number], tuple(row_values)))
            seen[number] += 1
    counter.steps += len(probes) + len(rows)
    return rows


def rounded(count: int) -> int:
    """The number of ranges in the smallest statement that holds so many: few sizes, each compiled once.

    >>> [rounded(count) for count in (1, 2, 4, 5, 20, 32)]
    [1, 4, 4, 8, 32, 32]
    """
    return next(size for size in _SIZES if size >= count)


def _execute(connection: Connection, kind: ProbeKind, size: int, values: dict[str, Any]) -> Sequence[Any]:
    # Compiled once and then given to the driver as text: a search runs dozens of these.
    dialect = connection.dialect
    key = (kind, size, dialect.name, dialect.driver)
    if key not in _COMPILED:
        made = _statement(kind, size).compile(dialect=dialect)
        _COMPILED[key] = (made.string, made.positiontup if made.positional else None, made.params)
    text, places, given = _COMPILED[key]
    parameters: Any = {**given, **values}
    return connection.exec_driver_sql(
        text, parameters if places is None else tuple(map(parameters.get, places))
    ).all()


# Text, the names of its parameters in their order if it has none in itself, and those that it brings.
_COMPILED: dict[tuple[ProbeKind, int, str, str], tuple[str, list[str] | None, dict[str, Any]]] = {}
_SIZES = (1, 4, 8, 16, MOST_RANGES)
_EMPTY_SPAN = Span((0, b""), b"\1", b"\0")


def _statement(kind: ProbeKind, size: int) -> Any:
    """A UNION ALL of `size` ranges, each sorted and limited."""
    order = kind.key.desc() if kind.descending else kind.key
    parts = []
    for number in range(size):
        conditions = [
            kind.line == _binary(f"line{number}"),
            kind.key >= _binary(f"low{number}"),
            kind.key <= _binary(f"high{number}"),
        ]
        if kind.owner is not None:
            conditions.append(kind.owner == _binary(f"owner{number}"))
        one = select(literal_column(str(number), Integer).label("probe"), *kind.wanted).where(*conditions)
        parts.append(select(one.order_by(order).limit(literal_column(str(kind.limit))).subquery()))
    return parts[0] if size == 1 else union_all(*parts)


def _binary(name: str) -> Any:
    return bindparam(name, type_=LargeBinary)
