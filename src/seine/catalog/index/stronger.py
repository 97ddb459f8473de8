"""Subsumption search for stronger predicate sets: indexed sets that imply a given one.

Two searches, each bounded. By prefix: a beam search down the trie of sets, clause by clause, finds sets
whose first clauses imply the whole given set; all their continuations are matches too. By member: for one
clause of the given set, read the sets that have a clause which implies it, nearest first, and verify them;
this sees every match if, for any of the given clauses, fewer than `MOST_MEMBERS` sets are in each key
range.

Cites: ARGUS 5.1.3 (subsumption of predicate sets)
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from seine.catalog.index import index_tables as t
from seine.catalog.index.clauses import Order, root_id
from seine.catalog.index.disjunctions import DisjunctionSearch
from seine.catalog.index.key_lines import Span, TermLines
from seine.catalog.index.probes import Counter, continuations, members, read
from seine.optimizer.canonical.atoms import PredicateSet

MOST_CONTINUATIONS = 4  # read under one set and key range
MOST_SETS_FOLLOWED = 16  # the width of the beam
MOST_MEMBERS = 24  # read from one key range
_CONTINUATIONS = continuations(descending=True, limit=MOST_CONTINUATIONS)
_MEMBERS = members(limit=MOST_MEMBERS)

_BELOW = (
    select(t.predicate_set.c.id)
    .where(t.predicate_set.c.parent_id.in_(bindparam("sets", expanding=True)))
    .limit(bindparam("most"))
)
_CLAUSES = select(t.set_clause.c.set_id, t.set_clause.c.term_id, t.set_clause.c.key).where(
    t.set_clause.c.set_id.in_(bindparam("sets", expanding=True))
)

ClauseSpans = list[list[Span]]  # for each given clause, the key ranges of the clauses that imply it


class _PartialSet(NamedTuple):
    """A prefix in the beam, and the numbers of the given clauses that nothing in it implies yet."""

    far: int
    id: bytes
    order: Order
    missing: frozenset[int]


def stronger_sets(
    connection: Connection, topology: bytes, predicates: PredicateSet, limit: int, counter: Counter
) -> tuple[list[bytes], bool]:
    """Ids of indexed sets that imply the given one, nearest first, and whether these are all."""
    lines = TermLines(connection, topology, predicates)
    disjunctions = DisjunctionSearch(connection, lines, counter)
    counter.steps += 1
    clause_spans: ClauseSpans = [
        lines.stronger(clause) + [lines.clause_span(clause_id) for clause_id in matches]
        for clause, matches in zip(predicates, disjunctions.stronger(predicates), strict=True)
    ]
    if any(not spans for spans in clause_spans):
        return [], disjunctions.complete
    ends = _by_prefix(connection, root_id(topology), clause_spans, counter)
    matches, all_below = _below(connection, ends, limit, counter)
    if not clause_spans:
        return matches, all_below
    others, complete = _by_member(connection, clause_spans, counter)
    return list(dict.fromkeys(matches + others)), complete and disjunctions.complete


def _by_prefix(
    connection: Connection, root: bytes, clause_spans: ClauseSpans, counter: Counter
) -> list[bytes]:
    """The shortest prefixes that imply all given clauses, by beam search."""
    start = _PartialSet(0, root, (-1, b""), frozenset(range(len(clause_spans))))
    frontier = [start] if clause_spans else []
    ends: list[tuple[int, bytes]] = [] if clause_spans else [(0, root)]
    while frontier:
        following = _continued(connection, frontier, clause_spans, counter)
        ends += [(step.far, step.id) for step in following if not step.missing]
        frontier = [step for step in following if step.missing]
    return [set_id for _, set_id in sorted(ends)]


def _continued(
    connection: Connection, frontier: list[_PartialSet], clause_spans: ClauseSpans, counter: Counter
) -> list[_PartialSet]:
    probes = [
        (step, span)
        for step in frontier
        for span in dict.fromkeys(span for number in sorted(step.missing) for span in clause_spans[number])
        if span.order >= step.order
    ]
    nearest: dict[bytes, _PartialSet] = {}
    for probe, near, (set_id, line, key) in read(
        connection, _CONTINUATIONS, [(step.id, span) for step, span in probes], counter
    ):
        before, span = probes[probe]
        met = {n for n in before.missing if any(other.holds(line, key) for other in clause_spans[n])}
        step = _PartialSet(before.far + near, set_id, span.order, before.missing - met)
        nearest[set_id] = min(step, nearest.get(set_id, step), key=lambda each: each.far)
    return sorted(nearest.values(), key=lambda each: (len(each.missing), each.far, each.id))[
        :MOST_SETS_FOLLOWED
    ]


def _below(
    connection: Connection, sets: list[bytes], limit: int, counter: Counter
) -> tuple[list[bytes], bool]:
    """These sets and their continuations, not many more than the limit; and whether these are all."""
    reached, frontier = list(sets), list(sets)
    most = 2 * limit + 1
    while frontier and len(reached) <= 3 * limit:
        frontier = list(connection.execute(_BELOW, {"sets": frontier, "most": most}).scalars())
        counter.steps += len(frontier) + 1
        reached += frontier
        if len(frontier) == most:
            return reached, False
    return reached, not frontier


def _by_member(
    connection: Connection, clause_spans: ClauseSpans, counter: Counter
) -> tuple[list[bytes], bool]:
    """Sets that have, for each given clause, one that implies it; read by one of the given clauses."""
    spans = list(dict.fromkeys(span for spans_of_clause in clause_spans for span in spans_of_clause))
    rows = read(connection, _MEMBERS, [(None, span) for span in spans], counter)
    full = {spans[row.probe] for row in rows if row.near == MOST_MEMBERS - 1}
    few = [set(spans_of_clause) for spans_of_clause in clause_spans if full.isdisjoint(spans_of_clause)]
    chosen = min(few, key=len) if few else set(spans)
    nearest = sorted(rows, key=lambda row: row.near)
    candidates = [row.values[0] for row in nearest if spans[row.probe] in chosen]
    return _checked(connection, candidates, clause_spans, counter), bool(few)


def _checked(
    connection: Connection, candidates: list[bytes], clause_spans: ClauseSpans, counter: Counter
) -> list[bytes]:
    wanted = list(dict.fromkeys(candidates))
    if len(clause_spans) == 1 or not wanted:
        return wanted
    clauses: dict[bytes, list[tuple[bytes, bytes]]] = defaultdict(list)
    rows = connection.execute(_CLAUSES, {"sets": wanted}).all()
    counter.steps += len(wanted) + len(rows)
    for set_id, line, key in rows:
        clauses[set_id].append((line, key))
    return [
        set_id
        for set_id in wanted
        if all(any(span.holds(*at) for span in spans for at in clauses[set_id]) for spans in clause_spans)
    ]
