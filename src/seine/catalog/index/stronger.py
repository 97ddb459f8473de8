"""Entered predicate sets that imply a given one: supersets of what it follows from.

Two searches, each bounded. The first goes the way of the sets, clause by clause: it finds sets whose
first clauses imply all that is asked, whatever comes after. The second takes one asked clause and
reads the sets that have a clause implying it, nearest first; it finds every match if these sets are
fewer than `MEMBERS` on each line, for any of the asked clauses.

Cites: ARGUS 5.1.3 (subsumption of predicate sets)
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from seine.catalog.index import index_tables as t
from seine.catalog.index.clauses import Order, root_id
from seine.catalog.index.disjunctions import Several
from seine.catalog.index.key_lines import Span, TermLines
from seine.catalog.index.probes import Counter, continuations, members, read
from seine.optimizer.canonical.atoms import PredicateSet

NEAR = 4
BREADTH = 16
MEMBERS = 24
_CONTINUATIONS = continuations(descending=True, limit=NEAR)
_MEMBERS = members(limit=MEMBERS)

_BELOW = (
    select(t.predicate_set.c.id)
    .where(t.predicate_set.c.parent_id.in_(bindparam("sets", expanding=True)))
    .limit(bindparam("most"))
)
_CLAUSES = select(t.set_clause.c.set_id, t.set_clause.c.term_id, t.set_clause.c.key).where(
    t.set_clause.c.set_id.in_(bindparam("sets", expanding=True))
)

Asked = list[list[Span]]  # of each asked clause, where the clauses are that imply it


class _Reached(NamedTuple):
    """A predicate set on the way, and the asked clauses that nothing in it implies yet."""

    far: int
    id: bytes
    order: Order
    missing: frozenset[int]


def stronger_sets(
    connection: Connection, topology: bytes, predicates: PredicateSet, limit: int, counter: Counter
) -> tuple[list[bytes], bool]:
    """Ids of predicate sets that imply the given one, nearest first, and whether these are all."""
    lines = TermLines(connection, topology, predicates)
    several = Several(connection, lines, counter)
    counter.steps += 1
    asked: Asked = [
        lines.stronger(clause) + [lines.clause_span(own) for own in found]
        for clause, found in zip(predicates, several.stronger(predicates), strict=True)
    ]
    if any(not spans for spans in asked):
        return [], several.complete
    ends = _by_way(connection, root_id(topology), asked, counter)
    found, all_below = _below(connection, ends, limit, counter)
    if not asked:
        return found, all_below
    others, complete = _by_member(connection, asked, counter)
    return list(dict.fromkeys(found + others)), complete and several.complete


def _by_way(connection: Connection, root: bytes, asked: Asked, counter: Counter) -> list[bytes]:
    """The sets whose last clause implies the last that was missing."""
    start = _Reached(0, root, (-1, b""), frozenset(range(len(asked))))
    frontier = [start] if asked else []
    ends: list[tuple[int, bytes]] = [] if asked else [(0, root)]
    while frontier:
        following = _continued(connection, frontier, asked, counter)
        ends += [(one.far, one.id) for one in following if not one.missing]
        frontier = [one for one in following if one.missing]
    return [own for _, own in sorted(ends)]


def _continued(
    connection: Connection, frontier: list[_Reached], asked: Asked, counter: Counter
) -> list[_Reached]:
    probes = [
        (one, span)
        for one in frontier
        for span in dict.fromkeys(span for number in sorted(one.missing) for span in asked[number])
        if span.order >= one.order
    ]
    found: dict[bytes, _Reached] = {}
    for probe, near, (own, line, key) in read(
        connection, _CONTINUATIONS, [(one.id, span) for one, span in probes], counter
    ):
        before, span = probes[probe]
        met = {n for n in before.missing if any(other.holds(line, key) for other in asked[n])}
        one = _Reached(before.far + near, own, span.order, before.missing - met)
        found[own] = min(one, found.get(own, one), key=lambda each: each.far)
    return sorted(found.values(), key=lambda each: (len(each.missing), each.far, each.id))[:BREADTH]


def _below(
    connection: Connection, sets: list[bytes], limit: int, counter: Counter
) -> tuple[list[bytes], bool]:
    """Some sets and those that continue them, not many more than a limit; and whether these are all."""
    found, frontier = list(sets), list(sets)
    most = 2 * limit + 1
    while frontier and len(found) <= 3 * limit:
        frontier = list(connection.execute(_BELOW, {"sets": frontier, "most": most}).scalars())
        counter.steps += len(frontier) + 1
        found += frontier
        if len(frontier) == most:
            return found, False
    return found, not frontier


def _by_member(connection: Connection, asked: Asked, counter: Counter) -> tuple[list[bytes], bool]:
    """Sets that have, for each asked clause, one that implies it; found by one of the asked clauses."""
    spans = list(dict.fromkeys(span for some in asked for span in some))
    rows = read(connection, _MEMBERS, [(None, span) for span in spans], counter)
    full = {spans[row.probe] for row in rows if row.near == MEMBERS - 1}
    few = [set(some) for some in asked if full.isdisjoint(some)]
    chosen = min(few, key=len) if few else set(spans)
    nearest = sorted(rows, key=lambda row: row.near)
    candidates = [row.values[0] for row in nearest if spans[row.probe] in chosen]
    return _checked(connection, candidates, asked, counter), bool(few)


def _checked(connection: Connection, candidates: list[bytes], asked: Asked, counter: Counter) -> list[bytes]:
    wanted = list(dict.fromkeys(candidates))
    if len(asked) == 1 or not wanted:
        return wanted
    clauses: dict[bytes, list[tuple[bytes, bytes]]] = defaultdict(list)
    rows = connection.execute(_CLAUSES, {"sets": wanted}).all()
    counter.steps += len(wanted) + len(rows)
    for own, line, key in rows:
        clauses[own].append((line, key))
    return [
        own
        for own in wanted
        if all(any(span.holds(*at) for span in spans for at in clauses[own]) for spans in asked)
    ]
