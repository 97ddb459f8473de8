"""Placing a join of many inputs: its gates, its promises, its node."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from seine.algebra.expressions import Column, Expression
from seine.algebra.types import Type
from seine.network.conditions import Conditions, moved
from seine.network.gates import Gates
from seine.network.multi_joins import MultiPlan
from seine.network.nodes import MultiJoinNode, Node, Port, Promised, Static
from seine.network.placing import Placer, port_of
from seine.network.promising import place_promises
from seine.sharing.consing import multi_join_signature, promise_signature


def place_multi_join(
    placer: Placer, gates: Gates, plan: MultiPlan, conditions: Conditions, lazy: bool, generation: int = 0
) -> MultiJoinNode:
    """The node that joins the streams of a plan, found or built; conditions address them side by side."""
    rows = [placer.site.nodes[i] for i in plan.nodes]
    promises = [place_promises(placer, use.stream, use.scheme) for use in plan.schemes]
    identity = _identity(placer, plan, [node.id for node in promises], generation)
    join = placer.site.find(identity)
    if join is None:
        ports = _ports(plan, [*map(gates.new, rows)], promises)
        candidate = replace(_candidate(placer, plan, rows, ports, lazy), generation=generation)
        join = placer.site.insert(candidate, identity)
    assert isinstance(join, MultiJoinNode)
    first = 0
    for port, node in enumerate(rows):
        own = conditions.enough(first, first + len(node.types))
        gates.claim(join, port, moved(own, first))
        first += len(node.types)
    placer.claim_node(join.id)
    placer.claim_filter(join.id, conditions.enough(0, len(join.types), plan.decided))
    return join


def standing_multi_join(placer: Placer, plan: MultiPlan, generation: int) -> Node | None:
    """The node that joins the streams of a plan, if it stands."""
    found = [placer.site.find(promise_signature(use.stream.name, use.scheme)) for use in plan.schemes]
    promises = [node.id for node in found if node is not None]
    if len(promises) < len(found):
        return None
    return placer.site.find(_identity(placer, plan, promises, generation))


def _identity(placer: Placer, plan: MultiPlan, promises: Sequence[int], generation: int) -> Hashable:
    inputs, owner = [*plan.nodes, *promises], placer.join_owner
    return multi_join_signature(inputs, plan.members, _promised(plan), plan.statics, owner, generation)


def _promised(plan: MultiPlan) -> tuple[Promised, ...]:
    return tuple(Promised(use.port, use.groups) for use in plan.schemes)


def _candidate(
    placer: Placer,
    plan: MultiPlan,
    rows: Sequence[Node],
    ports: tuple[Port, ...],
    lazy: bool,
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
        promised=_promised(plan),
        times=plan.times,
        statics=plan.statics,
        lazy=lazy,
        **common,
    )


def _types(part: Node | Static) -> tuple[Type, ...]:
    return part.types


def _ports(plan: MultiPlan, gates: Sequence[Node], promises: Sequence[Node]) -> tuple[Port, ...]:
    """Routed by the one group that there is, or all to one bucket."""
    keys: list[tuple[Expression, ...]] = [(e,) for e in plan.key] or [()] * len(gates)
    rows = [port_of(gate, key) for gate, key in zip(gates, keys, strict=True)]
    told = [port_of(node, (Column(0, node.types[0]),) if plan.key else ()) for node in promises]
    return (*rows, *told)
