"""Plans of multi-way joins: which items are joined at once, by which equal columns.

`safety.joined_streams` says for which blocks that is what frees rows.

Cites: SAFETY 4.1 (a query without a safe binary plan)
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from seine.algebra.expressions import Column, Expression, shift_columns
from seine.algebra.plan import Lookup, Scan
from seine.algebra.types import Type
from seine.graph.node import Node, Port
from seine.network.joins.join_keys import ItemRows
from seine.network.joins.join_placing import Prefilters
from seine.network.joins.join_punctuations import (
    HeardScheme,
    claim_punctuations,
    comes_from_all,
    open_generation,
    place_punctuations,
)
from seine.network.plan.block_conditions import Conditions, shift_back
from seine.network.plan.strategy import Strategy
from seine.network.site.placing import Placer, port_of
from seine.operators.multi_join.multi_join import (
    NO_START_COLUMN,
    Member,
    MultiJoinNode,
    Punctuated,
    Static,
    multi_join_signature,
)
from seine.optimizer.block import Block
from seine.safety.plans.join_trees import JoinedParts
from seine.safety.plans.joined_streams import JoinedStreams, SchemeUse, Side, joined_at_once
from seine.safety.plans.safe_plans import Tree
from seine.safety.verdict_story import Nested


@dataclass(frozen=True)
class MultiPlan:
    """A join of many inputs as it will be: the items of its ports, where their rows are, what joins them.

    `key` routes the rows of each port, if one group has a member of every port; else there is none. `decided`
    are the conditions of the block that the groups decide.
    """

    items: tuple[int, ...]
    nodes: tuple[int, ...]
    members: tuple[Member, ...]
    key: tuple[Expression, ...]
    decided: tuple[int, ...]
    schemes: tuple[SchemeUse, ...]
    times: tuple[int, ...]
    statics: tuple[Static, ...] = ()


def streams_at_once(block: Block, bases: Sequence[ItemRows]) -> JoinedStreams | None:
    """The items of a block that are freed if they are joined at once, in the order of the network's nodes, so
    that queries with another order of FROM share the join; None where any joins of two free as much.
    """
    if not block.is_of_tables:
        return None
    numbers = range(len(block.items))
    streams = [number for number in numbers if isinstance(block.items[number], Scan)]
    relations = [number for number in numbers if isinstance(block.items[number], Lookup)]
    streams.sort(key=lambda number: (bases[number].node or 0, number))
    relations.sort(key=lambda number: (bases[number].relation or "", number))
    return joined_at_once(block, streams, relations)


def multi_plan(joined: JoinedStreams, bases: Sequence[ItemRows]) -> MultiPlan:
    """The one join of streams and relations."""
    group_of, scans = joined.group_of, joined.scans
    decided = [n for n, one, other in joined.equalities if one in group_of and one[0] != other[0]]
    relations = [joined.block.items[number] for number in joined.items[len(scans) :]]
    return MultiPlan(
        joined.items,
        tuple(bases[number].node or 0 for number in joined.items[: len(scans)]),
        tuple(Member(port, group, expression) for (port, expression), group in group_of.items()),
        _key(joined),
        tuple(decided),
        tuple(joined.schemes),
        tuple(scan.stream.time for scan in scans),
        tuple(Static(r.relation.name, r.relation.types) for r in relations if isinstance(r, Lookup)),
    )


def parts_plan(
    streams: JoinedStreams, joined: JoinedParts, nodes: Sequence[int], offsets: Mapping[int, int]
) -> MultiPlan:
    """The one join of parts, whose rows are at `nodes`; `offsets` are where rows of items begin."""
    firsts = [min(offsets[streams.items[port]] for port in part) for part in joined.parts]
    sides = [
        (joined.part_of(side), group, _over_part(side, streams, offsets, firsts[joined.part_of(side)]))
        for group, members in enumerate(joined.groups)
        for side in members
    ]
    grouped = {side for members in joined.groups for side in members}
    decided = [
        number
        for number, one, other in joined.equalities
        if one in grouped and joined.part_of(one) != joined.part_of(other)
    ]
    singles = [min(part) if len(part) == 1 else None for part in joined.parts]
    return MultiPlan(
        tuple(streams.items[port] for part in joined.parts for port in sorted(part)),
        tuple(nodes),
        tuple(Member(*side) for side in sides),
        _key_of_parts(sides, len(joined.parts)),
        tuple(decided),
        tuple(joined.schemes),
        tuple(NO_START_COLUMN if port is None else streams.scans[port].stream.time for port in singles),
    )


def _over_part(side: Side, streams: JoinedStreams, offsets: Mapping[int, int], first: int) -> Expression:
    """An expression over rows of a stream as one over rows of the part that it is in."""
    by = offsets[streams.items[side[0]]] - first
    return shift_columns(side[1], lambda index: index + by)


def _key_of_parts(sides: Sequence[tuple[int, int, Expression]], count: int) -> tuple[Expression, ...]:
    first: dict[int, Expression] = {}
    for part, _, expression in sides:
        first.setdefault(part, expression)
    whole = len({group for _, group, _ in sides}) == 1 and len(first) == count
    return tuple(first[part] for part in range(count)) if whole else ()


def _key(joined: JoinedStreams) -> tuple[Expression, ...]:
    if not joined.has_one_key:
        return ()
    expressions = dict(reversed(joined.groups[0]))  # the first member of each port
    return tuple(expressions[port] for port in range(len(joined.scans)))


def nested_aliases(joined: JoinedStreams, tree: Tree | None) -> Nested:
    """The aliases of streams as a tree joins them; without one, all at once."""
    if tree is None:
        return tuple(scan.alias for scan in joined.scans)
    if isinstance(tree, int):
        return joined.scans[tree].alias
    return tuple(nested_aliases(joined, child) for child in tree.inputs)


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
