"""Searching the index: what equals a predicate set, what it implies, what implies it.

A set implies another if each clause of the other follows from one of its clauses, a clause another
if each of its atoms implies one of the other's, an atom another if their terms are equal and the order of
values says so. Nothing is found that is not so; `Found.complete` says whether everything was.

Cites: ARGUS 5.1.3 (equivalence and subsumption, layer by layer)
"""

from __future__ import annotations

import json
from collections import defaultdict
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, LargeBinary, bindparam, exists, select, union_all

from seine.algebra.expressions import Expression, Literal, from_json
from seine.catalog.index import index_tables as t
from seine.catalog.index.clauses import set_id, topology_id
from seine.catalog.index.placement import Match, SearchResult, Topology
from seine.catalog.index.probes import LONGEST, Counter, rounded
from seine.catalog.index.stronger import stronger_sets
from seine.catalog.index.weaker import weaker_sets
from seine.catalog.storage import catalog_tables as catalog
from seine.optimizer.canonical.atoms import Atom, Clause, PredicateSet, atom_key, clause_key

LIMIT = 10
USERS = 5  # so many queries of a match are named


class Search:
    """Searches within one transaction. If not `told`, matches name their queries alone."""

    def __init__(self, connection: Connection, *, told: bool = True) -> None:
        self._connection = connection
        self._told = told

    def equivalent(self, topology: Topology, predicates: PredicateSet) -> Match | None:
        """The entered predicate set that has the same clauses."""
        own = set_id(topology_id(topology), predicates)
        return next(iter(self._matches([own])), None)

    def weaker(self, topology: Topology, predicates: PredicateSet, limit: int = LIMIT) -> SearchResult:
        """Other entered sets that the given one implies, those with the most clauses first."""
        counter = Counter()
        place = topology_id(topology)
        reached, complete = weaker_sets(self._connection, place, predicates, counter)
        nearest = sorted(reached, key=lambda one: (-one.size, one.far, one.id))
        return self._found([one.id for one in nearest], set_id(place, predicates), limit, complete, counter)

    def stronger(self, topology: Topology, predicates: PredicateSet, limit: int = LIMIT) -> SearchResult:
        """Other entered sets that imply the given one."""
        counter = Counter()
        place = topology_id(topology)
        sets, complete = stronger_sets(self._connection, place, predicates, limit, counter)
        return self._found(sets, set_id(place, predicates), limit, complete, counter)

    def _found(
        self, sets: list[bytes], own: bytes, limit: int, complete: bool, counter: Counter
    ) -> SearchResult:
        others = [one for one in sets if one != own]
        entered = self._entered(others)
        matches = self._matches([one for one in others if one in entered][:limit])
        counter.steps += len(others) + sum(len(match.queries) + len(match.predicates) for match in matches)
        return SearchResult(tuple(matches), complete, counter.steps)

    def _entered(self, sets: list[bytes]) -> set[bytes]:
        return set(self._connection.execute(_ENTERED, {"sets": sets}).scalars()) if sets else set()

    def _matches(self, sets: list[bytes]) -> list[Match]:
        users = self._users(sets)
        found = [one for one in sets if one in users]
        predicates = self._predicates(found) if self._told else {}
        return [Match(predicates.get(one, ()), tuple(users[one])) for one in found]

    def _users(self, sets: list[bytes]) -> dict[bytes, dict[str, None]]:
        """Of each entered set the first queries, each once: it may have the set on several layers."""
        found: dict[bytes, dict[str, None]] = defaultdict(dict)
        for start in range(0, len(sets), LONGEST):
            some = sets[start : start + LONGEST]
            names = {f"own{number}": own for number, own in enumerate(some)}
            padded = {f"own{number}": b"" for number in range(len(some), rounded(len(some)))}
            for own, name in self._connection.execute(_users_of(rounded(len(some))), names | padded):
                found[own][name] = None
        return found

    def _predicates(self, sets: list[bytes]) -> dict[bytes, PredicateSet]:
        """The predicate sets themselves, as they were entered."""
        found: dict[bytes, dict[bytes, list[Atom]]] = {one: defaultdict(list) for one in sets}
        for one, clause, term, op, constant in self._connection.execute(_PREDICATES, {"sets": sets}):
            found[one][clause].append(_atom(term, op, constant))
        return {one: _sorted(list(clauses.values())) for one, clauses in found.items()}


_ENTERED = select(t.predicate_set.c.id).where(
    t.predicate_set.c.id.in_(bindparam("sets", expanding=True)),
    exists().where(t.entry.c.set_id == t.predicate_set.c.id),
)
_PREDICATES = (
    select(
        t.set_clause.c.set_id, t.set_clause.c.clause_id, t.term.c.term, t.literal.c.op, t.literal.c.constant
    )
    .join(t.alternative, t.alternative.c.clause_id == t.set_clause.c.clause_id)
    .join(t.literal, t.literal.c.id == t.alternative.c.literal_id)
    .join(t.term, t.term.c.id == t.literal.c.term_id)
    .where(t.set_clause.c.set_id.in_(bindparam("sets", expanding=True)))
)


@lru_cache(maxsize=16)
def _users_of(size: int) -> Any:
    """The first users of so many sets, in the order of their registration."""
    of, name = t.entry.c, catalog.query.c.name
    each = select(of.set_id, name).join(catalog.query, of.query_id == catalog.query.c.id)
    parts = [
        each.where(of.set_id == bindparam(f"own{number}", type_=LargeBinary))
        .order_by(of.query_id)
        .limit(USERS)
        for number in range(size)
    ]
    return parts[0] if size == 1 else union_all(*(select(part.subquery()) for part in parts))


@lru_cache(maxsize=1 << 12)
def _expression(text: str) -> Expression:
    return from_json(json.loads(text))


def _atom(term: str, op: str, constant: str | None) -> Atom:
    value = _expression(constant) if constant is not None else None
    assert value is None or isinstance(value, Literal)
    return Atom(_expression(term), op, value)


def _sorted(clauses: list[list[Atom]]) -> PredicateSet:
    whole: list[Clause] = [tuple(sorted(clause, key=atom_key)) for clause in clauses]
    return tuple(sorted(whole, key=clause_key))
