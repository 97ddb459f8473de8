"""Placing a join of many inputs: its gates, its promises, its node."""

from __future__ import annotations

from collections.abc import Sequence

from seine.algebra.expressions import Column, Expression
from seine.network.conditions import Conditions, moved
from seine.network.gates import Gates
from seine.network.multi_joins import MultiPlan
from seine.network.nodes import MultiJoinNode, Node, Port, Promised
from seine.network.placing import Placer, port_of
from seine.network.promising import place_promises
from seine.sharing.consing import multi_join_signature


def place_multi_join(
    placer: Placer, gates: Gates, plan: MultiPlan, conditions: Conditions, lazy: bool
) -> Node:
    """The node that joins the streams of a plan, found or built; conditions address them side by side."""
    rows = [placer.site.nodes[i] for i in plan.nodes]
    promises = [place_promises(placer, use.stream, use.scheme) for use in plan.schemes]
    told = tuple(Promised(use.port, use.groups) for use in plan.schemes)
    inputs = [node.id for node in (*rows, *promises)]
    identity = multi_join_signature(inputs, plan.members, told, placer.join_owner)
    join = placer.site.find(identity)
    if join is None:
        ports = _ports(plan, [*map(gates.new, rows)], promises)
        join = placer.site.insert(_candidate(placer, plan, rows, ports, told, lazy), identity)
    first = 0
    for port, node in enumerate(rows):
        own = conditions.enough(first, first + len(node.types))
        gates.claim(join, port, moved(own, first))
        first += len(node.types)
    placer.claim_node(join.id)
    placer.claim_filter(join.id, conditions.enough(0, first, plan.decided))
    return join


def _candidate(
    placer: Placer,
    plan: MultiPlan,
    rows: Sequence[Node],
    ports: tuple[Port, ...],
    promised: tuple[Promised, ...],
    lazy: bool,
) -> MultiJoinNode:
    common = placer.common(
        [type_ for node in rows for type_ in node.types],
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
        promised=promised,
        times=plan.times,
        lazy=lazy,
        **common,
    )


def _ports(plan: MultiPlan, gates: Sequence[Node], promises: Sequence[Node]) -> tuple[Port, ...]:
    """Routed by the one group that there is, or all to one bucket."""
    keys: list[tuple[Expression, ...]] = [(e,) for e in plan.key] or [()] * len(gates)
    rows = [port_of(gate, key) for gate, key in zip(gates, keys, strict=True)]
    told = [port_of(node, (Column(0, node.types[0]),) if plan.key else ()) for node in promises]
    return (*rows, *told)
