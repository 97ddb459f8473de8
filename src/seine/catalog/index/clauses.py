"""Ids and keys of conditions in the computation index, computed from their content alone.

A literal is a key on a *line*, the ordered key space of one term and one side of comparison
(`ordered_keys`). A clause of one literal stands where its literal does; all clauses with several
alternatives stand on one further line. A predicate set is a chain: another set and one clause more, clauses
in a fixed order.

GROUP BY keys and set operators written as predicate sets, so that one search serves them too.

A grouping is the set of its keys over one input; a set operation is the set of its inputs. A weaker set is
then a subset, that is a coarser grouping or an operation over fewer inputs; a stronger set is a superset,
that is a finer grouping or an operation over more inputs.

Cites: ARGUS 5.3 (group expressions: supersets of dimensions), ARGUS 5.4 (subsets of inputs)

The records of the computation index: what is inserted, and what a search returns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from seine.algebra.expressions import Expression, Literal, to_json
from seine.algebra.plan import SetKind
from seine.algebra.types import STRING
from seine.catalog.index.ordered_keys import digest, point, term_text
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


def grouping(query: str, over: Topology, predicates: PredicateSet, keys: Iterable[Expression]) -> Placement:
    """The placement of an aggregate's keys, over the rows of a topology that satisfy a predicate set.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import INT
    >>> one = grouping("q", Topology("select", ("bid",)), (), [Column(1, INT), Column(0, INT)])
    >>> two = grouping("q", Topology("select", ("bid",)), (), [Column(0, INT), Column(1, INT)])
    >>> one == two, one == grouping("q", Topology("select", ("bid",)), (), [Column(1, INT)])
    (True, False)
    """
    rows = set_id(topology_id(over), predicates).hex()
    return Placement(query, Topology("group", (rows,)), _set_of(keys, "key"), "group")


def set_operation(query: str, kind: str, inputs: Sequence[str]) -> Placement:
    """The placement of a union of inputs, or of an operation on the first input and the others."""
    unions = ("union_all", "union")
    if kind not in (*unions, *SetKind):
        raise ValueError(f"there is no set operator {kind!r}")
    first = () if kind in unions else inputs[:1]
    rest = [Literal(name, STRING) for name in inputs[len(first) :]]
    return Placement(query, Topology(kind, tuple(first)), _set_of(rest, "input"), "set")


def _set_of(terms: Iterable[Expression], op: str) -> PredicateSet:
    return tuple((Atom(term, op),) for term in sorted(set(terms), key=term_text))


LAYERS = ("direct", "selection", "join", "group", "set")


@dataclass(frozen=True)
class Topology:
    """The rows that conditions range over: an operator by its kind, its inputs and its equi-join keys.

    The columns of a condition address the columns of the inputs, one input after the other.
    """

    kind: str
    inputs: tuple[str, ...]
    keys: tuple[tuple[Expression, ...], ...] = ()


@dataclass(frozen=True)
class Placement:
    """A query's conditions over a topology; `layer` says of what its rows are: tuples, or joined."""

    query: str
    topology: Topology
    predicates: PredicateSet
    layer: str = "direct"

    def __post_init__(self) -> None:
        if self.layer not in LAYERS:
            raise ValueError(f"there is no layer {self.layer!r}")
        if not all(self.predicates):
            raise ValueError("a clause has at least one atom")


@dataclass(frozen=True)
class Match:
    """An indexed predicate set and the names of queries that have it, at most `MOST_USERS` of them."""

    predicates: PredicateSet
    queries: tuple[str, ...]


@dataclass(frozen=True)
class SearchResult:
    """The matches, nearest first. If `complete`, there are no others but those beyond the requested limit.

    `steps` counts the probes of an index and the rows they returned.
    """

    matches: tuple[Match, ...]
    complete: bool
    steps: int
