"""Leaving: a query's entries go, and whatever no entry needs any more.

Law: entering and leaving leave no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Select, bindparam, delete, exists, select

from seine.catalog.index import index_tables as t
from seine.catalog.index.writer_lock import claim
from seine.catalog.storage import catalog_tables as catalog
from seine.catalog.storage.stored_query import name_key
from seine.catalog.storage.table_rows import portions

Ids = set[bytes]
_IDS: Any = bindparam("ids", expanding=True)


def _rows(*wanted: Column[Any], of: Column[Any], only: ColumnElement[bool] | None = None) -> Select[Any]:
    """Columns of the rows of some ids, of those alone that satisfy a condition."""
    ask = select(*wanted).where(of.in_(_IDS))
    return ask if only is None else ask.where(only)


_SET, _CLAUSE, _MEMBER, _LITERAL = t.predicate_set.c, t.clause.c, t.alternative.c, t.literal.c
_NEXT = t.predicate_set.alias().c
_IS_ENTERED = exists().where(t.entry.c.set_id == _SET.id)
_IS_CONTINUED = exists().where(_NEXT.parent_id == _SET.id)
_LINE_HAS_CLAUSE = exists().where(t.set_clause.c.term_id == t.term.c.id)
_LINE_HAS_ALTERNATIVE = exists().where(_MEMBER.term_id == t.term.c.id)

_QUERIES = select(catalog.query.c.id).where(catalog.query.c.key.in_(bindparam("keys", expanding=True)))
_ENTRIES = _rows(t.entry.c.set_id, of=t.entry.c.query_id)
_LEFT_SETS = _rows(_SET.id, of=_SET.id, only=~_IS_ENTERED)
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
    """Remove everything that the named queries entered; one that entered nothing is no matter."""
    ids: set[int] = set()
    for some in portions(sorted({name_key(query) for query in queries})):
        ids.update(connection.execute(_QUERIES, {"keys": some}).scalars())
    (sets,) = _read(connection, _ENTRIES, ids)
    if not sets:
        return
    claim(connection)
    _forget(connection, t.entry.c.query_id, ids)
    _forget(connection, t.set_clause.c.set_id, _read(connection, _LEFT_SETS, sets)[0])
    topologies, clauses, lines = _remove_sets(connection, sets)
    lines |= _remove_clauses(connection, clauses)
    _forget(connection, t.term.c.id, _read(connection, _IDLE_LINES, lines)[0])
    _forget(connection, t.topology.c.id, topologies)


def _remove_sets(connection: Connection, sets: Ids) -> tuple[Ids, Ids, Ids]:
    """Remove sets that nobody entered and none continues, then likewise those before them.

    The result is what they named: topologies, clauses, lines.
    """
    topologies: Ids = set()
    clauses: Ids = set()
    lines: Ids = set()
    while sets:
        gone, sets, *named = _read(connection, _IDLE_SETS, sets)
        for found, more in zip((topologies, clauses, lines), named, strict=True):
            found |= more
        _forget(connection, _SET.id, gone)
    return topologies, clauses, lines


def _remove_clauses(connection: Connection, clauses: Ids) -> Ids:
    """Remove clauses that no set has, then literals that no clause has; the result is their lines."""
    (gone,) = _read(connection, _IDLE_CLAUSES, clauses)
    (literals,) = _read(connection, _LITERALS, gone)
    _forget(connection, _MEMBER.clause_id, gone)
    _forget(connection, _CLAUSE.id, gone)
    unused, lines = _read(connection, _IDLE_LITERALS, literals)
    _forget(connection, _LITERAL.id, unused)
    return lines


def _read(connection: Connection, ask: Select[Any], ids: set[Any]) -> list[set[Any]]:
    """The values of each column, NULL left out."""
    found: list[set[Any]] = [set() for _ in ask.selected_columns]
    for some in portions(sorted(ids)):
        for row in connection.execute(ask, {"ids": some}):
            for values, value in zip(found, row, strict=True):
                if value is not None:
                    values.add(value)
    return found


def _forget(connection: Connection, own: Column[Any], ids: set[Any]) -> None:
    for some in portions(sorted(ids)):
        connection.execute(delete(own.table).where(own.in_(_IDS)), {"ids": some})
