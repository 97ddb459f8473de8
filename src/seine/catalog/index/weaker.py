"""Entered predicate sets that a given one implies: subsets of what follows from it.

From the empty set on, follow the clauses that are implied: under each set reached, the nearest ones of
each line. A path that ends at an entered set is a match. Complete as long as no line has more than
`NEAR` implied clauses under one set and no more than `BREADTH` sets of one size are reached; beyond
that the nearest are followed.

Cites: ARGUS 5.1.3 (subsumption of predicate sets)
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection

from seine.catalog.index.clauses import Order, root_id
from seine.catalog.index.disjunctions import Several
from seine.catalog.index.key_lines import Span, TermLines
from seine.catalog.index.probes import Counter, continuations, read
from seine.optimizer.canonical.atoms import PredicateSet

NEAR = 8
BREADTH = 32
_CONTINUATIONS = continuations(descending=False, limit=NEAR)


class Reached(NamedTuple):
    """A predicate set on the way; `far` adds up how far its clauses are from the nearest."""

    far: int
    id: bytes
    order: Order
    size: int


def weaker_sets(
    connection: Connection, topology: bytes, predicates: PredicateSet, counter: Counter
) -> tuple[list[Reached], bool]:
    """Predicate sets that the given one implies, entered or on the way to one; and whether these are all."""
    lines = TermLines(connection, topology, predicates)
    several = Several(connection, lines, counter)
    counter.steps += 1
    spans = _implied_spans(predicates, lines, several)
    complete = several.complete
    reached = [Reached(0, root_id(topology), (-1, b""), 0)]
    frontier = reached
    while frontier:
        following, whole = _continued(connection, frontier, spans, counter)
        reached = reached + following
        frontier = following
        complete &= whole
    return reached, complete


def _implied_spans(predicates: PredicateSet, lines: TermLines, several: Several) -> list[Span]:
    spans = [span for clause in predicates for span in lines.weaker(clause)]
    spans += [lines.clause_span(own) for own in several.weaker(predicates)]
    return list(dict.fromkeys(spans))


def _continued(
    connection: Connection, frontier: list[Reached], spans: list[Span], counter: Counter
) -> tuple[list[Reached], bool]:
    # Clauses of a set are in order: what comes before the last one cannot follow it.
    asked = [(one, span) for one in frontier for span in spans if span.order >= one.order]
    rows = read(connection, _CONTINUATIONS, [(one.id, span) for one, span in asked], counter)
    found: dict[bytes, Reached] = {}
    whole = True
    for probe, near, (own, _, _) in rows:
        before, span = asked[probe]
        one = Reached(before.far + near, own, span.order, before.size + 1)
        found[own] = min(one, found.get(own, one))
        whole &= near < NEAR - 1
    nearest = sorted(found.values())
    return nearest[:BREADTH], whole and len(nearest) <= BREADTH
