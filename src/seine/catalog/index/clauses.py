"""Where conditions stand in the index: ids, lines and keys, computed without asking the database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from seine.algebra.expressions import to_json
from seine.catalog.index.ordered_keys import digest, point
from seine.catalog.index.placement import Topology
from seine.optimizer.canonical.atoms import Atom, Clause, PredicateSet

SEVERAL = "or"  # the line of clauses with alternatives: a key there is the clause's id

# Clauses of a set in this order: what few sets have in common comes first.
_RANKS = {"eq": 0, "null": 2, SEVERAL: 3, "low": 4, "high": 5, "ne": 6, "known": 7}
_AS_IS = 1

Order = tuple[int, bytes]


class ClausePlace(NamedTuple):
    """A literal or clause: its id, its line and its key there."""

    id: bytes
    line: bytes
    key: bytes
    order: Order


class PredicateChainStep(NamedTuple):
    """A predicate set as the set before it and one clause more."""

    id: bytes
    parent: bytes
    clause: Clause
    place: ClausePlace


def topology_id(topology: Topology) -> bytes:
    return digest("topology", topology.kind, *topology_texts(topology))


def topology_texts(topology: Topology) -> tuple[str, str]:
    """Its inputs and its keys as JSON."""
    keys = [[to_json(part) for part in key] for key in topology.keys]
    return json.dumps(topology.inputs), json.dumps(keys)


def root_id(topology: bytes) -> bytes:
    """The predicate set without a condition."""
    return digest("root", topology)


@lru_cache(maxsize=1 << 12)
def base_id(topology: bytes, term: str) -> bytes:
    """What the lines of one term have in common."""
    return digest("base", topology, term)


@lru_cache(maxsize=1 << 12)
def line_id(base: bytes, side: str) -> bytes:
    return digest("line", base, side)


def line_order(side: str, line: bytes) -> Order:
    return _RANKS.get(side, _AS_IS), line


@lru_cache(maxsize=1 << 14)
def literal_place(topology: bytes, atom: Atom) -> ClausePlace:
    term, side, key = point(atom)
    line = line_id(base_id(topology, term), side)
    return ClausePlace(digest("literal", line, key), line, key, line_order(side, line))


def clause_place(topology: bytes, clause: Clause, literals: Sequence[ClausePlace]) -> ClausePlace:
    """A clause of one literal stands where the literal does."""
    if len(clause) == 1:
        return literals[0]
    line = line_id(base_id(topology, SEVERAL), SEVERAL)
    own = digest("clause", *sorted({literal.id for literal in literals}))
    return ClausePlace(own, line, own, line_order(SEVERAL, line))


def path(topology: bytes, predicates: PredicateSet) -> Iterator[PredicateChainStep]:
    """The predicate sets from the first clause to all of them, clauses in their fixed order."""
    placed = {}
    for clause in predicates:
        place = clause_place(topology, clause, [literal_place(topology, atom) for atom in clause])
        placed[place.id] = (place.order, place.key, place, clause)
    parent = root_id(topology)
    for _, _, place, clause in sorted(placed.values(), key=lambda found: found[:2]):
        own = digest("set", parent, place.id)
        yield PredicateChainStep(own, parent, clause, place)
        parent = own


def set_id(topology: bytes, predicates: PredicateSet) -> bytes:
    """The id of a whole predicate set."""
    last = root_id(topology)
    for step in path(topology, predicates):
        last = step.id
    return last
