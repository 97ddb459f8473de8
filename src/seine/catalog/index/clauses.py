"""Ids and keys of conditions in the computation index, computed from their content alone.

A literal is a key on a *line*, the ordered key space of one term and one side of comparison
(`ordered_keys`). A clause of one literal stands where its literal does; all clauses with several
alternatives stand on one further line. A predicate set is a chain: another set and one clause more, clauses
in a fixed order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from seine.algebra.expressions import to_json
from seine.catalog.index.ordered_keys import digest, point
from seine.catalog.index.placement import Topology
from seine.optimizer.canonical.atoms import Atom, Clause, PredicateSet

SEVERAL = "or"  # the line of clauses with several alternatives: a key there is the id of the clause

# The order of the clauses of a set by side: the most selective come first, so that chains branch late.
_RANKS = {"eq": 0, "null": 2, SEVERAL: 3, "low": 4, "high": 5, "ne": 6, "known": 7}
_RANK_OF_OTHER_SIDES = 1

Order = tuple[int, bytes]


class ClausePlace(NamedTuple):
    """A literal or clause in the index: its id, its line, its key there, and its rank within a set."""

    id: bytes
    line: bytes
    key: bytes
    order: Order


class PredicateChainStep(NamedTuple):
    """One link of a chain: the predicate set `id` is its `parent` and one `clause` more."""

    id: bytes
    parent: bytes
    clause: Clause
    place: ClausePlace


def topology_id(topology: Topology) -> bytes:
    """The id of a topology: a digest of its content."""
    return digest("topology", topology.kind, *topology_texts(topology))


def topology_texts(topology: Topology) -> tuple[str, str]:
    """The inputs and the keys of a topology, as JSON."""
    keys = [[to_json(part) for part in key] for key in topology.keys]
    return json.dumps(topology.inputs), json.dumps(keys)


def root_id(topology: bytes) -> bytes:
    """The id of the empty predicate set over a topology, where all chains begin."""
    return digest("root", topology)


@lru_cache(maxsize=1 << 12)
def base_id(topology: bytes, term: str) -> bytes:
    """The id that all lines of one term over a topology have in common."""
    return digest("base", topology, term)


@lru_cache(maxsize=1 << 12)
def line_id(base: bytes, side: str) -> bytes:
    """The id of the line of a term and side."""
    return digest("line", base, side)


def line_order(side: str, line: bytes) -> Order:
    """The rank of the clauses of a line among the clauses of a set."""
    return _RANKS.get(side, _RANK_OF_OTHER_SIDES), line


@lru_cache(maxsize=1 << 14)
def literal_place(topology: bytes, atom: Atom) -> ClausePlace:
    """The place of an atom."""
    term, side, key = point(atom)
    line = line_id(base_id(topology, term), side)
    return ClausePlace(digest("literal", line, key), line, key, line_order(side, line))


def clause_place(topology: bytes, clause: Clause, literals: Sequence[ClausePlace]) -> ClausePlace:
    """The place of a clause: that of its literal, or if it has several, a key made of their ids."""
    if len(clause) == 1:
        return literals[0]
    line = line_id(base_id(topology, SEVERAL), SEVERAL)
    clause_id = digest("clause", *sorted({literal.id for literal in literals}))
    return ClausePlace(clause_id, line, clause_id, line_order(SEVERAL, line))


def predicate_chain(topology: bytes, predicates: PredicateSet) -> Iterator[PredicateChainStep]:
    """The chain of a predicate set, from its first clause to all of them."""
    placed = {}
    for clause in predicates:
        place = clause_place(topology, clause, [literal_place(topology, atom) for atom in clause])
        placed[place.id] = (place.order, place.key, place, clause)
    parent = root_id(topology)
    for _, _, place, clause in sorted(placed.values(), key=lambda one: one[:2]):
        step_id = digest("set", parent, place.id)
        yield PredicateChainStep(step_id, parent, clause, place)
        parent = step_id


def set_id(topology: bytes, predicates: PredicateSet) -> bytes:
    """The id of a predicate set: of the last link of its chain."""
    last = root_id(topology)
    for step in predicate_chain(topology, predicates):
        last = step.id
    return last
