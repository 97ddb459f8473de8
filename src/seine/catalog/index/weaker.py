"""Subsumption search for weaker predicate sets: indexed sets that a given one implies.

A beam search down the trie of sets, from the empty set: under each set reached, follow the implied clauses,
nearest keys first. Every set reached that a query has is a match. Complete if no key range has
`MOST_CONTINUATIONS` implied clauses under one set and no more than `MOST_SETS_FOLLOWED` sets of one size are
reached; beyond that the nearest are followed.

Cites: ARGUS 5.1.3 (subsumption of predicate sets)
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection

from seine.catalog.index.clauses import Order, root_id
from seine.catalog.index.disjunctions import DisjunctionSearch
from seine.catalog.index.key_lines import Span, TermLines
from seine.catalog.index.probes import Counter, continuations, read
from seine.optimizer.canonical.atoms import PredicateSet

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
    for probe, near, (set_id, _, _) in rows:
        before, span = probes[probe]
        step = ReachedSet(before.far + near, set_id, span.order, before.size + 1)
        reached[set_id] = min(step, reached.get(set_id, step))
        whole &= near < MOST_CONTINUATIONS - 1
    nearest = sorted(reached.values())
    return nearest[:MOST_SETS_FOLLOWED], whole and len(nearest) <= MOST_SETS_FOLLOWED
