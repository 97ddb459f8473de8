"""Leaving: a query's entries go, and whatever no entry needs any more.

Law: entering and leaving leave no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, delete, exists, select

from seine.catalog import tables as catalog
from seine.catalog.index import tables as t
from seine.catalog.records import name_key
from seine.catalog.rows import portions

Ids = set[bytes]


def leave(connection: Connection, queries: Sequence[str]) -> None:
    """Remove everything that the named queries entered; one that entered nothing is no matter."""
    sets: Ids = set()
    for some in portions(sorted({name_key(query) for query in queries})):
        mine = t.entry.c.query_id.in_(select(catalog.query.c.id).where(catalog.query.c.key.in_(some)))
        sets.update(connection.execute(select(t.entry.c.set_id).where(mine)).scalars())
        connection.execute(delete(t.entry).where(mine))
    own = t.predicate_set.c.id
    _forget(connection, t.set_clause.c.set_id, _chosen(connection, own, sets, ~_is_entered()))
    topologies, clauses, lines = _remove_sets(connection, sets)
    lines |= _remove_clauses(connection, clauses)
    line = t.term.c.id
    used = exists().where(t.set_clause.c.term_id == line) | exists().where(t.alternative.c.term_id == line)
    _forget(connection, line, _chosen(connection, line, lines, ~used))
    _forget(connection, t.topology.c.id, topologies)


def _remove_sets(connection: Connection, sets: Ids) -> tuple[Ids, Ids, Ids]:
    """Remove sets that nobody entered and none continues, then likewise those before them.

    The result is what they named: topologies, clauses, lines.
    """
    own, child = t.predicate_set.c, t.predicate_set.alias()
    needed = _is_entered() | exists().where(child.c.parent_id == own.id)
    named: tuple[Ids, Ids, Ids] = (set(), set(), set())
    while sets:
        gone = _chosen(connection, own.id, sets, ~needed)
        sets = set()
        for some in portions(sorted(gone)):
            ask = select(own.topology_id, own.clause_id, own.term_id, own.parent_id).where(own.id.in_(some))
            for row in connection.execute(ask):
                for found, value in zip((*named, sets), row, strict=True):
                    found.update([value] if value is not None else [])
        _forget(connection, own.id, gone)
    return named


def _remove_clauses(connection: Connection, clauses: Ids) -> Ids:
    """Remove clauses that no set has, then literals that no clause has; the result is their lines."""
    own, member, literal = t.clause.c.id, t.alternative.c, t.literal.c
    gone = _chosen(connection, own, clauses, ~exists().where(t.predicate_set.c.clause_id == own))
    literals = _values(connection, member.literal_id, member.clause_id, gone)
    _forget(connection, member.clause_id, gone)
    _forget(connection, own, gone)
    unused = _chosen(connection, literal.id, literals, ~exists().where(member.literal_id == literal.id))
    lines = _values(connection, literal.term_id, literal.id, unused)
    _forget(connection, literal.id, unused)
    return lines


def _is_entered() -> ColumnElement[bool]:
    return exists().where(t.entry.c.set_id == t.predicate_set.c.id)


def _chosen(connection: Connection, own: Column[Any], ids: Ids, condition: ColumnElement[bool]) -> Ids:
    """Of some ids those whose row satisfies a condition."""
    found: Ids = set()
    for some in portions(sorted(ids)):
        found.update(connection.execute(select(own).where(own.in_(some), condition)).scalars())
    return found


def _values(connection: Connection, wanted: Column[Any], own: Column[Any], ids: Ids) -> Ids:
    found: Ids = set()
    for some in portions(sorted(ids)):
        found.update(connection.execute(select(wanted).where(own.in_(some))).scalars())
    return found


def _forget(connection: Connection, own: Column[Any], ids: Ids) -> None:
    for some in portions(sorted(ids)):
        connection.execute(delete(own.table).where(own.in_(some)))
