"""A keyword search as ordinary joins: WITH (engine = 'joins').

Each candidate network of the search is a plan: its streams, each with the condition that a tuple holds
exactly the terms of its node, joined along its edges. The network of queries shares what these have in common
with one another and with SELECT queries: that is the paper's operator mesh.

    SEARCH 'tarantino travolta'            SELECT tree_tuples(..) FROM director d, movie m, plays p, actor a
      director{tarantino} - movie{}        WHERE contains_term(d.name, 'tarantino') AND NOT contains_term(..)
        - plays{} - actor{travolta}          AND m.did = d.did AND m.mid = p.mid AND p.aid = a.aid

A node that a network has twice would need its two tuples told apart, which rows of joins cannot; such a
search is refused, and needs five tuples or a stream that is joined with itself.

Cites: SKWS 3.3 (operator trees and mesh)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, islice

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.functions.casting import implied_cast
from seine.algebra.plan import Join, Plan, Project, Scan, Select
from seine.algebra.search_plan import Search, Term
from seine.algebra.types import BOOLEAN, JSON, STRING
from seine.errors import SeineError
from seine.keyword_networks.candidate_networks import (
    MOST_TERMS_FOR_NETWORKS,
    CandidateNetwork,
    SearchNetworks,
)

_MOST_NETWORKS_JOINED = 500  # each of them is a query of its own to the optimiser


def network_plans(plan: Search) -> list[Plan]:
    """A plan for each candidate network; refuses what joins cannot do."""
    if plan.top is not None or plan.relations:
        raise _refusal("takes neither TOP nor relations")
    if len(plan.terms) > MOST_TERMS_FOR_NETWORKS:
        raise _refusal(f"takes {MOST_TERMS_FOR_NETWORKS} terms at most, not {len(plan.terms)}")
    if any(edge.left == edge.right for edge in plan.edges):
        raise _refusal("joins no stream with itself")
    searched = SearchNetworks.of(plan)
    networks = list(islice(searched.networks(), _MOST_NETWORKS_JOINED + 1))
    if len(networks) > _MOST_NETWORKS_JOINED:
        raise _refusal(f"takes {_MOST_NETWORKS_JOINED} candidate networks at most")
    for network in networks:
        if len(set(network.nodes)) < len(network.nodes):
            raise _refusal(f"cannot tell two tuples of one node apart: {searched.text(network)}")
    return [_NetworkPlan(plan, searched, network).plan() for network in networks]


def _refusal(reason: str) -> SeineError:
    return SeineError(
        f"SEARCH by the engine 'joins' {reason}", hint="leave the engine out, or ask for fewer tuples"
    )


@dataclass(frozen=True)
class _NetworkPlan:
    search: Search
    searched: SearchNetworks
    network: CandidateNetwork

    def plan(self) -> Plan:
        """Selections of the streams, joined in the order in which the network was grown; then its record."""
        streams = [self._stream(node) for node in self.network.nodes]
        selected = [
            self._selected(stream, node) for stream, node in zip(streams, self.network.nodes, strict=True)
        ]
        starts = [0, *accumulate(len(stream.fields) for stream in streams)]
        joined = selected[0]
        for (near, far, condition), right in zip(self.network.edges, selected[1:], strict=True):
            joined = Join(joined, right, self._equality(near, far, condition, starts))
        return Project(joined, self._record(streams, starts), ("tuples", "edges", "matches"))

    def _stream(self, node: int) -> StreamDef:
        return self.search.streams[int(self.searched.schema.stream_of[node])]

    def _selected(self, stream: StreamDef, node: int) -> Plan:
        """The tuples of a stream that hold exactly the terms of a node."""
        held = int(self.searched.schema.keywords_of[node])
        conditions = []
        for bit, term in enumerate(self.search.terms):
            contains = contains_term(stream, term)
            if contains is not None:
                conditions.append(contains if held >> bit & 1 else Call("not", (contains,), BOOLEAN))
        scan: Plan = Scan(stream, stream.name)
        return reduce(Select, conditions, scan)

    def _equality(self, near: int, far: int, condition: int, starts: Sequence[int]) -> Expression:
        edge = self.search.edges[condition]
        common = self.search.graph.key_type(edge)
        near_is_left = self._stream(self.network.nodes[near]).name == edge.left
        sides = (
            (edge.left_column, edge.right_column) if near_is_left else (edge.right_column, edge.left_column)
        )
        keys = []
        for position, column in zip((near, far), sides, strict=True):
            type_ = self._stream(self.network.nodes[position]).fields[column].type
            keys.append(implied_cast(Column(starts[position] + column, type_), common, "a key"))
        return Call("eq", tuple(keys), BOOLEAN)

    def _record(self, streams: Sequence[StreamDef], starts: Sequence[int]) -> tuple[Expression, ...]:
        held = [int(self.searched.schema.keywords_of[node]) for node in self.network.nodes]
        words = [*enumerate(self.searched.words)]
        matches = [[*dict.fromkeys(word for bit, word in words if one >> bit & 1)] for one in held]
        edges = [[near, far] for near, far, _ in self.network.edges]
        names = [one.name for one in streams]
        tables = [[one.name, one.time, [field.name for field in one.declared]] for one in streams]
        columns = [
            Column(start + i, field.type)
            for start, one in zip(starts, streams, strict=False)
            for i, field in enumerate(one.declared)
        ]
        placed = zip(starts, streams, strict=False)
        times = [Column(start + one.time, one.types[one.time]) for start, one in placed]
        return (
            Call("tree_tuples", (*columns, _constant(tables)), JSON),
            Call("tree_edges", (*times, _constant([names, edges])), JSON),
            Call("tree_matches", (*times, _constant([names, matches])), JSON),
        )


def _constant(spec: object) -> Literal:
    return Literal(json.dumps(spec, ensure_ascii=False), STRING)


def contains_term(stream: StreamDef, term: Term) -> Expression | None:
    """Whether a tuple of a stream contains a term; None if none of its columns can."""
    tests: list[Expression] = []
    for place, field in enumerate(stream.fields):
        fitting = [
            [list(one.words), one.prefix] for one in term.alternatives if one.column in (None, field.name)
        ]
        if field.type == STRING and fitting:
            tests.append(Call("contains_term", (Column(place, STRING), _constant(sorted(fitting))), BOOLEAN))
    return reduce(lambda one, other: Call("or", (one, other), BOOLEAN), tests) if tests else None
