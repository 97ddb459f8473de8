"""Plans of multi-way joins: which items are joined at once, by which equal columns.

`safety.joined_streams` says for which blocks that is what frees rows.

Cites: SAFETY 4.1 (a query without a safe binary plan)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seine.algebra.expressions import Expression, shift_columns
from seine.algebra.plan import Lookup, Scan
from seine.network.joins.join_keys import ItemRows
from seine.operators.multi_join.multi_join import NO_START_COLUMN, Member, Static
from seine.optimizer.block import Block
from seine.safety.plans.joined_parts import JoinedParts
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
