"""Subsumption search in the computation index: predicate sets that equal, follow from or imply a given one.

Implication is layered. An atom implies another over the same term if the order of values says so; a clause
implies another if each of its atoms implies one of the other's; a set implies another if each clause of the
other follows from one of its clauses. Every match is right; `SearchResult.complete` says whether there are
others.

Cites: ARGUS 5.1.3 (equivalence and subsumption, layer by layer)

Subsumption search for weaker predicate sets: indexed sets that a given one implies.

A beam search down the trie of sets, from the empty set: under each set reached, follow the implied clauses,
nearest keys first. Every set reached that a query has is a match. Complete if no key range has
`MOST_CONTINUATIONS` implied clauses under one set and no more than `MOST_SETS_FOLLOWED` sets of one size are
reached; beyond that the nearest are followed.

Cites: ARGUS 5.1.3 (subsumption of predicate sets)
"""

from __future__ import annotations

import json
from collections import defaultdict
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, LargeBinary, bindparam, exists, select, union_all

from seine.algebra.expressions import Expression, Literal, from_json
from seine.catalog.index import index_tables as t
from seine.catalog.index.clauses import Match, Order, SearchResult, Topology, root_id, set_id, topology_id
from seine.catalog.index.disjunctions import DisjunctionSearch
from seine.catalog.index.key_lines import Span, TermLines
from seine.catalog.index.probes import MOST_RANGES, Counter, continuations, read, rounded
from seine.catalog.index.stronger import stronger_sets
from seine.catalog.tables import schema as catalog
from seine.optimizer.canonical.atoms import Atom, Clause, PredicateSet, atom_key, clause_key

MOST_MATCHES = 10
MOST_USERS = 5  # whose names a match carries


class IndexSearch:
    """Searches within one transaction; without `with_predicates`, matches have names of queries alone."""

    def __init__(self, connection: Connection, *, with_predicates: bool = True) -> None:
        self._connection = connection
        self._with_predicates = with_predicates

    def equivalent(self, topology: Topology, predicates: PredicateSet) -> Match | None:
        """The indexed predicate set with the same clauses, if there is one."""
        wanted = set_id(topology_id(topology), predicates)
        return next(iter(self._matches([wanted])), None)

    def weaker(self, topology: Topology, predicates: PredicateSet, limit: int = MOST_MATCHES) -> SearchResult:
        """Other indexed sets that the given one implies, those with the most clauses first."""
        counter = Counter()
        place = topology_id(topology)
        reached, complete = weaker_sets(self._connection, place, predicates, counter)
        nearest = sorted(reached, key=lambda one: (-one.size, one.far, one.id))
        return self._result([one.id for one in nearest], set_id(place, predicates), limit, complete, counter)

    def stronger(
        self, topology: Topology, predicates: PredicateSet, limit: int = MOST_MATCHES
    ) -> SearchResult:
        """Other indexed sets that imply the given one."""
        counter = Counter()
        place = topology_id(topology)
        sets, complete = stronger_sets(self._connection, place, predicates, limit, counter)
        return self._result(sets, set_id(place, predicates), limit, complete, counter)

    def _result(
        self, sets: list[bytes], wanted: bytes, limit: int, complete: bool, counter: Counter
    ) -> SearchResult:
        others = [one for one in sets if one != wanted]
        entered = self._entered(others)
        matches = self._matches([one for one in others if one in entered][:limit])
        counter.steps += len(others) + sum(len(match.queries) + len(match.predicates) for match in matches)
        return SearchResult(tuple(matches), complete, counter.steps)

    def _entered(self, sets: list[bytes]) -> set[bytes]:
        return set(self._connection.execute(_ENTERED, {"sets": sets}).scalars()) if sets else set()

    def _matches(self, sets: list[bytes]) -> list[Match]:
        users = self._users(sets)
        entered = [one for one in sets if one in users]
        predicates = self._predicates(entered) if self._with_predicates else {}
        return [Match(predicates.get(entered_id, ()), tuple(users[entered_id])) for entered_id in entered]

    def _users(self, sets: list[bytes]) -> dict[bytes, dict[str, None]]:
        """For each indexed set the first of its queries; one with the set on several layers counts once."""
        users: dict[bytes, dict[str, None]] = defaultdict(dict)
        for start in range(0, len(sets), MOST_RANGES):
            portion = sets[start : start + MOST_RANGES]
            names = {f"set{number}": entered_id for number, entered_id in enumerate(portion)}
            padded = {f"set{number}": b"" for number in range(len(portion), rounded(len(portion)))}
            for entered_id, name in self._connection.execute(
                _users_of(rounded(len(portion))), names | padded
            ):
                users[entered_id][name] = None
        return users

    def _predicates(self, sets: list[bytes]) -> dict[bytes, PredicateSet]:
        """The clauses of indexed sets."""
        atoms: dict[bytes, dict[bytes, list[Atom]]] = {entered_id: defaultdict(list) for entered_id in sets}
        for entered_id, clause, term, op, constant in self._connection.execute(_PREDICATES, {"sets": sets}):
            atoms[entered_id][clause].append(_atom(term, op, constant))
        return {entered_id: _sorted(list(clauses.values())) for entered_id, clauses in atoms.items()}


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
    """A statement that reads the first queries of `size` sets, in the order of their registration."""
    of, name = t.entry.c, catalog.query.c.name
    each = select(of.set_id, name).join(catalog.query, of.query_id == catalog.query.c.id)
    parts = [
        each.where(of.set_id == bindparam(f"set{number}", type_=LargeBinary))
        .order_by(of.query_id)
        .limit(MOST_USERS)
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


MOST_CONTINUATIONS = 8  # read under one set and key range
MOST_SETS_FOLLOWED = 32  # the width of the beam
_CONTINUATIONS = continuations(descending=False, limit=MOST_CONTINUATIONS)


class ReachedSet(NamedTuple):
    """A set in the beam; `far` sums the ranks of its clauses in their key ranges."""

    far: int
    id: bytes
    order: Order
    size: int


def weaker_sets(
    connection: Connection, topology: bytes, predicates: PredicateSet, counter: Counter
) -> tuple[list[ReachedSet], bool]:
    """Sets that the given one implies, be they a query's or only prefixes; and whether these are all."""
    lines = TermLines(connection, topology, predicates)
    disjunctions = DisjunctionSearch(connection, lines, counter)
    counter.steps += 1
    spans = _implied_spans(predicates, lines, disjunctions)
    complete = disjunctions.complete
    reached = [ReachedSet(0, root_id(topology), (-1, b""), 0)]
    frontier = reached
    while frontier:
        following, whole = _continued(connection, frontier, spans, counter)
        reached = reached + following
        frontier = following
        complete &= whole
    return reached, complete


def _implied_spans(predicates: PredicateSet, lines: TermLines, disjunctions: DisjunctionSearch) -> list[Span]:
    spans = [span for clause in predicates for span in lines.weaker(clause)]
    spans += [lines.clause_span(clause_id) for clause_id in disjunctions.weaker(predicates)]
    return list(dict.fromkeys(spans))


def _continued(
    connection: Connection, frontier: list[ReachedSet], spans: list[Span], counter: Counter
) -> tuple[list[ReachedSet], bool]:
    # Clauses of a set are in order: what comes before the last one cannot follow it.
    probes = [(step, span) for step in frontier for span in spans if span.order >= step.order]
    rows = read(connection, _CONTINUATIONS, [(step.id, span) for step, span in probes], counter)
    reached: dict[bytes, ReachedSet] = {}
    whole = True
    for probe, near, (reached_id, _, _) in rows:
        before, span = probes[probe]
        step = ReachedSet(before.far + near, reached_id, span.order, before.size + 1)
        reached[reached_id] = min(step, reached.get(reached_id, step))
        whole &= near < MOST_CONTINUATIONS - 1
    nearest = sorted(reached.values())
    return nearest[:MOST_SETS_FOLLOWED], whole and len(nearest) <= MOST_SETS_FOLLOWED
