"""Placing a multi-way join: its prefilters, its punctuations, its node."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from seine.algebra.expressions import Column, Expression
from seine.algebra.types import Type
from seine.graph.node import Node, Port
from seine.network.joins.join_punctuations import place_punctuations
from seine.network.joins.multi_joins import MultiPlan
from seine.network.joins.prefilters import Prefilters
from seine.network.plan.block_conditions import Conditions, shift_back
from seine.network.plan.strategy import Strategy
from seine.network.site.placing import Placer, port_of
from seine.operators.multi_join.multi_join_node import MultiJoinNode, Punctuated, Static, multi_join_signature
from seine.operators.stream.punctuations_node import punctuation_signature


def place_multi_join(
    placer: Placer,
    prefilters: Prefilters,
    plan: MultiPlan,
    conditions: Conditions,
    strategy: Strategy,
    generation: int = 0,
) -> MultiJoinNode:
    """The node that joins the streams of a plan, found or built; conditions address them side by side."""
    rows = [placer.site.nodes[i] for i in plan.nodes]
    punctuations = [place_punctuations(placer, use.stream, use.scheme) for use in plan.schemes]
    identity = _identity(placer, plan, [node.id for node in punctuations], generation)
    join = placer.site.find(identity)
    if join is None:
        ports = _ports(plan, [*map(prefilters.new, rows)], punctuations)
        candidate = replace(_candidate(placer, plan, rows, ports, strategy), generation=generation)
        join = placer.site.insert(candidate, identity)
    assert isinstance(join, MultiJoinNode)
    first = 0
    for port, node in enumerate(rows):
        port_conditions = conditions.necessary(first, first + len(node.types))
        prefilters.claim(join, port, shift_back(port_conditions, first))
        first += len(node.types)
    placer.claim_node(join.id)
    placer.claim_filter(join.id, conditions.necessary(0, len(join.types), plan.decided))
    return join


def standing_multi_join(placer: Placer, plan: MultiPlan, generation: int) -> Node | None:
    """The node that joins the streams of a plan, if it exists."""
    nodes = [placer.site.find(punctuation_signature(use.stream.name, use.scheme)) for use in plan.schemes]
    punctuations = [node.id for node in nodes if node is not None]
    if len(punctuations) < len(nodes):
        return None
    return placer.site.find(_identity(placer, plan, punctuations, generation))


def _identity(placer: Placer, plan: MultiPlan, punctuations: Sequence[int], generation: int) -> Hashable:
    inputs, owner = [*plan.nodes, *punctuations], placer.join_owner
    return multi_join_signature(inputs, plan.members, _punctuated(plan), plan.statics, owner, generation)


def _punctuated(plan: MultiPlan) -> tuple[Punctuated, ...]:
    return tuple(Punctuated(use.port, use.groups, use.partners) for use in plan.schemes)


def _candidate(
    placer: Placer,
    plan: MultiPlan,
    rows: Sequence[Node],
    ports: tuple[Port, ...],
    strategy: Strategy,
) -> MultiJoinNode:
    common = placer.common(
        [type_ for types in (*map(_types, rows), *map(_types, plan.statics)) for type_ in types],
        [stream for node in rows for stream in node.streams],
        (),
        0,
        max(node.stage for node in rows) + 1,
        out=(),
        owner=placer.join_owner,
    )
    return MultiJoinNode(
        ports=ports,
        filters=(),
        width=len(rows),
        members=plan.members,
        punctuated=_punctuated(plan),
        times=plan.times,
        statics=plan.statics,
        lazy=strategy.lazy,
        purge_batch=strategy.purge_batch,
        **common,
    )


def _types(part: Node | Static) -> tuple[Type, ...]:
    return part.types


def _ports(plan: MultiPlan, prefilters: Sequence[Node], punctuations: Sequence[Node]) -> tuple[Port, ...]:
    """Routed by the one group that there is, or all to one bucket."""
    keys: list[tuple[Expression, ...]] = [(e,) for e in plan.key] or [()] * len(prefilters)
    rows = [port_of(prefilter, key) for prefilter, key in zip(prefilters, keys, strict=True)]
    listening = [port_of(node, (Column(0, node.types[0]),) if plan.key else ()) for node in punctuations]
    return (*rows, *listening)
