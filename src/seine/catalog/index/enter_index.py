"""Bulk insertion into the computation index: all rows are computed first, and inserted where they are new.

Cites: ARGUS 5.1.5 (relational model for indexing)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects.sqlite import insert

from seine.catalog.index import index_tables as t
from seine.catalog.index.clauses import (
    SEVERAL,
    ClausePlace,
    Placement,
    PredicateChainStep,
    Topology,
    base_id,
    clause_place,
    literal_place,
    predicate_chain,
    root_id,
    topology_id,
    topology_texts,
)
from seine.catalog.index.ordered_keys import constant_text, point, term_text
from seine.catalog.tables import schema as catalog
from seine.catalog.tables.rows import ids_by_name, insert_plain_rows
from seine.optimizer.canonical.atoms import Atom, Clause

_MOST_PLACEMENTS = 4_000  # whose rows are in memory at a time
_PARENTS_FIRST = (
    t.topology,
    t.term,
    t.literal,
    t.clause,
    t.alternative,
    t.predicate_set,
    t.set_clause,
    t.entry,
)


def enter_index(connection: Connection, placements: Sequence[Placement]) -> None:
    """Insert the placements of registered queries; rows that exist already stay as they are."""
    queries = ids_by_name(connection, catalog.query, {placement.query for placement in placements})
    rows = _IndexRows()
    for start in range(0, len(placements), _MOST_PLACEMENTS):
        for placement in placements[start : start + _MOST_PLACEMENTS]:
            rows.add_placement(placement, queries[placement.query])
        for table in _PARENTS_FIRST:
            insert_plain_rows(connection, insert(table).on_conflict_do_nothing(), rows.take(table))


class _IndexRows:
    """The rows to insert, by table, each once; a predicate set comes after its parent."""

    def __init__(self) -> None:
        self._new: dict[str, list[dict[str, Any]]] = {table.name: [] for table in _PARENTS_FIRST}
        self._known: dict[str, set[Hashable]] = {table.name: set() for table in _PARENTS_FIRST}
        self._topologies: dict[Topology, bytes] = {}
        self._complete: set[bytes] = set()  # predicate sets whose chain is complete here

    def take(self, table: Table) -> list[dict[str, Any]]:
        """The rows of a table that were added since the last call."""
        taken, self._new[table.name] = self._new[table.name], []
        return taken

    def add_placement(self, placement: Placement, query: int) -> None:
        """Add the chain of a placement and the entry of its query."""
        topology = self._topology(placement.topology)
        steps = list(predicate_chain(topology, placement.predicates))
        last = steps[-1].id if steps else root_id(topology)
        entry = {"set_id": last, "query_id": query, "layer": placement.layer}
        self._new[t.entry.name].append(entry)  # a duplicate is ignored on insertion
        if last in self._complete:
            return
        self._complete.add(last)
        for step in steps:
            self._add_step(topology, step, last)

    def _topology(self, topology: Topology) -> bytes:
        if topology not in self._topologies:
            new_id = self._topologies[topology] = topology_id(topology)
            inputs, keys = topology_texts(topology)
            self._put(t.topology, new_id, id=new_id, kind=topology.kind, inputs=inputs, keys=keys)
            self._put_set(root_id(topology=new_id), topology=new_id)
        return self._topologies[topology]

    def _add_step(self, topology: bytes, step: PredicateChainStep, last: bytes) -> None:
        place = step.place
        row = {"set_id": last, "clause_id": place.id, "term_id": place.line, "key": place.key}
        self._new[t.set_clause.name].append(row)
        if step.id not in self._known[t.predicate_set.name]:
            self._put_set(step.id, parent=step.parent, place=place)
            self._add_clause(topology, step.clause)

    def _add_clause(self, topology: bytes, clause: Clause) -> None:
        literals = [self._literal(topology, atom) for atom in clause]
        place = clause_place(topology, clause, literals)
        several = len(clause) > 1
        if several:
            self._line(topology, SEVERAL, SEVERAL, place.line)
        self._put(t.clause, place.id, id=place.id, size=len(clause))
        for literal in literals:
            self._put(
                t.alternative,
                (place.id, literal.id),
                clause_id=place.id,
                literal_id=literal.id,
                term_id=literal.line if several else None,
                key=literal.key if several else None,
            )

    def _literal(self, topology: bytes, atom: Atom) -> ClausePlace:
        place = literal_place(topology, atom)
        if place.id not in self._known[t.literal.name]:
            self._line(topology, term_text(atom.term), point(atom).side, place.line)
            constant = constant_text(atom.constant) if atom.constant is not None else None
            self._put(
                t.literal,
                place.id,
                id=place.id,
                term_id=place.line,
                key=place.key,
                op=atom.op,
                constant=constant,
            )
        return place

    def _line(self, topology: bytes, term: str, side: str, line: bytes) -> None:
        base = base_id(topology, term)
        self._put(t.term, line, id=line, topology_id=topology, base=base, side=side, term=term)

    def _put_set(
        self,
        set_id: bytes,
        topology: bytes | None = None,
        parent: bytes | None = None,
        place: ClausePlace | None = None,
    ) -> None:
        self._put(
            t.predicate_set,
            set_id,
            id=set_id,
            topology_id=topology,
            parent_id=parent,
            clause_id=place.id if place else None,
            term_id=place.line if place else None,
            key=place.key if place else None,
        )

    def _put(self, table: Table, identity: Hashable, **values: Any) -> None:
        if identity not in self._known[table.name]:
            self._known[table.name].add(identity)
            self._new[table.name].append(values)
