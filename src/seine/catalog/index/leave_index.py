"""Bulk deletion from the computation index: the entries of queries, then every row that nothing refers to.

Law: inserting queries and deleting them again leaves the tables as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Select, bindparam, delete, exists, select

from seine.catalog.index import index_tables as t
from seine.catalog.tables import schema as catalog
from seine.catalog.tables.rows import name_key, portions

Ids = set[bytes]
_IDS: Any = bindparam("ids", expanding=True)


def _rows(*wanted: Column[Any], of: Column[Any], only: ColumnElement[bool] | None = None) -> Select[Any]:
    """A SELECT of columns for given ids, perhaps restricted by a condition."""
    statement = select(*wanted).where(of.in_(_IDS))
    return statement if only is None else statement.where(only)


_SET, _CLAUSE, _MEMBER, _LITERAL = t.predicate_set.c, t.clause.c, t.alternative.c, t.literal.c
_NEXT = t.predicate_set.alias().c
_IS_ENTERED = exists().where(t.entry.c.set_id == _SET.id)
_IS_CONTINUED = exists().where(_NEXT.parent_id == _SET.id)
_LINE_HAS_CLAUSE = exists().where(t.set_clause.c.term_id == t.term.c.id)
_LINE_HAS_ALTERNATIVE = exists().where(_MEMBER.term_id == t.term.c.id)

_QUERIES = select(catalog.query.c.id).where(catalog.query.c.key.in_(bindparam("keys", expanding=True)))
_ENTRIES = _rows(t.entry.c.set_id, of=t.entry.c.query_id)
_SETS_WITHOUT_ENTRY = _rows(_SET.id, of=_SET.id, only=~_IS_ENTERED)
_IDLE_SETS = _rows(
    _SET.id,
    _SET.parent_id,
    _SET.topology_id,
    _SET.clause_id,
    _SET.term_id,
    of=_SET.id,
    only=~_IS_ENTERED & ~_IS_CONTINUED,
)
_IDLE_CLAUSES = _rows(_CLAUSE.id, of=_CLAUSE.id, only=~exists().where(_SET.clause_id == _CLAUSE.id))
_LITERALS = _rows(_MEMBER.literal_id, of=_MEMBER.clause_id)
_IDLE_LITERALS = _rows(
    _LITERAL.id,
    _LITERAL.term_id,
    of=_LITERAL.id,
    only=~exists().where(_MEMBER.literal_id == _LITERAL.id),
)
_IDLE_LINES = _rows(t.term.c.id, of=t.term.c.id, only=~_LINE_HAS_CLAUSE & ~_LINE_HAS_ALTERNATIVE)


def leave_index(connection: Connection, queries: Sequence[str]) -> None:
    """Delete all entries of the named queries; a query without entries is ignored."""
    ids: set[int] = set()
    for portion in portions(sorted({name_key(query) for query in queries})):
        ids.update(connection.execute(_QUERIES, {"keys": portion}).scalars())
    (sets,) = _read(connection, _ENTRIES, ids)
    if not sets:
        return
    _delete(connection, t.entry.c.query_id, ids)
    _delete(connection, t.set_clause.c.set_id, _read(connection, _SETS_WITHOUT_ENTRY, sets)[0])
    topologies, clauses, lines = _remove_sets(connection, sets)
    lines |= _remove_clauses(connection, clauses)
    _delete(connection, t.term.c.id, _read(connection, _IDLE_LINES, lines)[0])
    _delete(connection, t.topology.c.id, topologies)


def _remove_sets(connection: Connection, sets: Ids) -> tuple[Ids, Ids, Ids]:
    """Delete the sets without an entry and without a continuation, then likewise their parents.

    Returns what the deleted sets referred to: topologies, clauses, lines.
    """
    topologies: Ids = set()
    clauses: Ids = set()
    lines: Ids = set()
    while sets:
        unused_ids, sets, *named = _read(connection, _IDLE_SETS, sets)
        for ids, more in zip((topologies, clauses, lines), named, strict=True):
            ids |= more
        _delete(connection, _SET.id, unused_ids)
    return topologies, clauses, lines


def _remove_clauses(connection: Connection, clauses: Ids) -> Ids:
    """Delete clauses that no set has, then literals that no clause has; returns the lines of these."""
    (unused_ids,) = _read(connection, _IDLE_CLAUSES, clauses)
    (literals,) = _read(connection, _LITERALS, unused_ids)
    _delete(connection, _MEMBER.clause_id, unused_ids)
    _delete(connection, _CLAUSE.id, unused_ids)
    unused, lines = _read(connection, _IDLE_LITERALS, literals)
    _delete(connection, _LITERAL.id, unused)
    return lines


def _read(connection: Connection, statement: Select[Any], ids: set[Any]) -> list[set[Any]]:
    """The distinct values of each column of a SELECT for these ids, without NULL."""
    columns: list[set[Any]] = [set() for _ in statement.selected_columns]
    for portion in portions(sorted(ids)):
        for row in connection.execute(statement, {"ids": portion}):
            for values, value in zip(columns, row, strict=True):
                if value is not None:
                    values.add(value)
    return columns


def _delete(connection: Connection, column: Column[Any], ids: set[Any]) -> None:
    for portion in portions(sorted(ids)):
        connection.execute(delete(column.table).where(column.in_(_IDS)), {"ids": portion})
