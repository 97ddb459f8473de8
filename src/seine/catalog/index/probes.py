"""Reading the beginnings of many ranges of a b-tree in one statement, the nearest keys first.

Each statement is a UNION ALL of ranges with a LIMIT each. Its length is rounded up by ranges that
hold nothing, so that a few prepared statements serve all searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, Integer, LargeBinary, bindparam, literal_column, select, union_all

from seine.catalog.index import index_tables as t
from seine.catalog.index.key_lines import Span

LONGEST = 32  # ranges in one statement


class ProbeRow(NamedTuple):
    """A row of a range: the number of its probe, how near it is, and the columns asked for."""

    probe: int
    near: int
    values: tuple[Any, ...]


@dataclass(frozen=True)
class ProbeKind:
    """What is read: an optional column that must equal the probe's owner, a line, a key, and more."""

    owner: Column[Any] | None
    line: Column[Any]
    key: Column[Any]
    wanted: tuple[Column[Any], ...]
    descending: bool
    limit: int

    def __hash__(self) -> int:
        return hash((self.line.table.name, self.descending, self.limit))


def continuations(*, descending: bool, limit: int) -> ProbeKind:
    """The predicate sets that add one clause to the owner."""
    of = t.predicate_set.c
    return ProbeKind(of.parent_id, of.term_id, of.key, (of.id, of.term_id, of.key), descending, limit)


def members(*, limit: int) -> ProbeKind:
    """The sets that have a clause on a line."""
    of = t.set_clause.c
    return ProbeKind(None, of.term_id, of.key, (of.set_id,), True, limit)


def alternatives(*, descending: bool, limit: int) -> ProbeKind:
    """The clauses that have an alternative on a line."""
    of = t.alternative.c
    return ProbeKind(None, of.term_id, of.key, (of.clause_id,), descending, limit)


class Counter:
    """How much a search has read: probes and rows."""

    def __init__(self) -> None:
        self.steps = 0


def read(
    connection: Connection, kind: ProbeKind, probes: Sequence[tuple[bytes | None, Span]], counter: Counter
) -> list[ProbeRow]:
    """The nearest rows of each probe, an owner and a span."""
    rows: list[ProbeRow] = []
    for start in range(0, len(probes), LONGEST):
        some = probes[start : start + LONGEST]
        size = rounded(len(some))
        values: dict[str, Any] = {}
        for number in range(size):
            owner, span = some[number] if number < len(some) else (b"", _NOTHING)
            values.update({f"line{number}": span.line, f"low{number}": span.low, f"high{number}": span.high})
            if kind.owner is not None:
                values[f"owner{number}"] = owner
        seen = [0] * size
        for number, *found in _execute(connection, kind, size, values):
            rows.append(ProbeRow(start + number, seen[number], tuple(found)))
            seen[number] += 1
    counter.steps += len(probes) + len(rows)
    return rows


def rounded(count: int) -> int:
    """The number of ranges in a statement that serves so many: a few sizes, since each is compiled once.

    >>> [rounded(count) for count in (1, 2, 4, 5, 20, 32)]
    [1, 4, 4, 8, 32, 32]
    """
    return next(size for size in _SIZES if size >= count)


def _execute(connection: Connection, kind: ProbeKind, size: int, values: dict[str, Any]) -> Sequence[Any]:
    # Compiled once and then given to the driver as it is: a search asks dozens of these.
    dialect = connection.dialect
    key = (kind, size, dialect.name, dialect.driver)
    if key not in _COMPILED:
        made = _statement(kind, size).compile(dialect=dialect)
        _COMPILED[key] = (made.string, made.positiontup if made.positional else None, made.params)
    text, places, given = _COMPILED[key]
    asked: Any = {**given, **values}
    return connection.exec_driver_sql(text, asked if places is None else tuple(map(asked.get, places))).all()


# Text, the names of its parameters in their order if it has none in itself, and those that it brings.
_COMPILED: dict[tuple[ProbeKind, int, str, str], tuple[str, list[str] | None, dict[str, Any]]] = {}
_SIZES = (1, 4, 8, 16, LONGEST)
_NOTHING = Span((0, b""), b"\1", b"\0")


def _statement(kind: ProbeKind, size: int) -> Any:
    """Ranges number 0 to size - 1, each by itself in order."""
    order = kind.key.desc() if kind.descending else kind.key
    parts = []
    for number in range(size):
        asked = [
            kind.line == _binary(f"line{number}"),
            kind.key >= _binary(f"low{number}"),
            kind.key <= _binary(f"high{number}"),
        ]
        if kind.owner is not None:
            asked.append(kind.owner == _binary(f"owner{number}"))
        one = select(literal_column(str(number), Integer).label("probe"), *kind.wanted).where(*asked)
        parts.append(select(one.order_by(order).limit(literal_column(str(kind.limit))).subquery()))
    return parts[0] if size == 1 else union_all(*parts)


def _binary(name: str) -> Any:
    return bindparam(name, type_=LargeBinary)
