"""Placing a multi-way join: its prefilters, its punctuations, its node."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from seine.algebra.expressions import Column, Expression
from seine.algebra.types import Type
from seine.graph.node import Node, Port
from seine.network.joins.heard_joins import HeardScheme, open_generation
from seine.network.joins.join_placing import Prefilters
from seine.network.joins.join_punctuations import claim_punctuations, comes_from_all, place_punctuations
from seine.network.joins.multi_joins import MultiPlan
from seine.network.plan.block_conditions import Conditions, shift_back
from seine.network.plan.strategy import Strategy
from seine.network.site.placing import Placer, port_of
from seine.operators.multi_join.multi_join import MultiJoinNode, Punctuated, Static, multi_join_signature


def place_multi_join(
    placer: Placer,
    prefilters: Prefilters,
    plan: MultiPlan,
    punctuations: Sequence[Node],
    conditions: Conditions,
    strategy: Strategy,
    generation: int = 0,
    first: int = 0,
    before: Sequence[int] = (),
) -> MultiJoinNode:
    """The node that joins the inputs of a plan, found or built; its rows begin at the column `first` of the
    row that conditions address, and joins beneath have decided the conjuncts `before`.
    """
    rows = [placer.site.nodes[i] for i in plan.nodes]
    identity = multi_identity(placer, plan, punctuations, generation)
    join = placer.site.find(identity)
    if join is None:
        ports = _ports(plan, [*map(prefilters.new, rows)], punctuations)
        candidate = replace(
            _candidate(placer, plan, rows, punctuations, ports, strategy), generation=generation
        )
        join = placer.site.insert(candidate, identity)
    else:
        claim_punctuations(placer, [node.id for node in punctuations])
    assert isinstance(join, MultiJoinNode)
    start = first
    for port, node in enumerate(rows):
        port_conditions = conditions.necessary(start, start + len(node.types), before)
        prefilters.claim(join, port, shift_back(port_conditions, start))
        start += len(node.types)
    placer.claim_node(join.id)
    whole = conditions.necessary(first, first + len(join.types), [*before, *plan.decided])
    placer.claim_filter(join.id, shift_back(whole, first))
    return join


def place_streams_at_once(
    placer: Placer,
    prefilters: Prefilters,
    plan: MultiPlan,
    conditions: Conditions,
    strategy: Strategy,
    heard: Sequence[HeardScheme],
) -> MultiJoinNode:
    """The join of all streams of a plan; somebody listens to the `heard` punctuations that it derives."""
    punctuations = stream_punctuations(placer, plan)
    generation = open_generation(
        placer, lambda number: placer.site.find(multi_identity(placer, plan, punctuations, number)), heard
    )
    return place_multi_join(placer, prefilters, plan, punctuations, conditions, strategy, generation)


def stream_punctuations(placer: Placer, plan: MultiPlan) -> list[Node]:
    """The punctuations that a join of streams listens to."""
    return [place_punctuations(placer, use.stream, use.scheme) for use in plan.schemes]


def multi_identity(
    placer: Placer, plan: MultiPlan, punctuations: Sequence[Node], generation: int
) -> Hashable:
    """What the join of a plan is found by."""
    inputs, owner = [*plan.nodes, *(node.id for node in punctuations)], placer.join_owner
    punctuated = _punctuated(plan, punctuations)
    return multi_join_signature(inputs, plan.members, punctuated, plan.statics, owner, generation)


def _punctuated(plan: MultiPlan, punctuations: Sequence[Node]) -> tuple[Punctuated, ...]:
    return tuple(
        Punctuated(use.port, use.groups, use.partners, comes_from_all(node))
        for use, node in zip(plan.schemes, punctuations, strict=True)
    )


def _candidate(
    placer: Placer,
    plan: MultiPlan,
    rows: Sequence[Node],
    punctuations: Sequence[Node],
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
        punctuated=_punctuated(plan, punctuations),
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
