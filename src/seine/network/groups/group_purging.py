"""What frees groups before they are empty: the promises and clocks that make them final come to their fences.

`safety.grouping` says which these are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Column, Expression, substitute
from seine.algebra.plan import Lookup, Plan, Scan
from seine.graph.node import Port
from seine.network.groups.pipeline_breakers import Fenced
from seine.network.joins.join_punctuations import place_punctuations
from seine.network.plan.blocks import Block
from seine.network.site.placing import Placer
from seine.operators.group.aggregate_node import AggregateNode
from seine.operators.group.distinct_node import DistinctNode
from seine.operators.group.except_node import ExceptNode
from seine.operators.group.release_rules import FinalTime, Releases
from seine.operators.join.purge_rule import Purge
from seine.operators.stream.punctuations_node import PunctuationsNode
from seine.safety import block as judged
from seine.safety.final_groups import GroupedBlock, common_rising_keys


def release(
    placer: Placer, streams: Mapping[str, StreamDef], fenced: Fenced, groupings: Sequence[GroupedBlock]
) -> Fenced:
    """Let a fence that has not run yet listen to the promises and clocks that free its groups."""
    node = placer.site.nodes[fenced.node.id]
    assert isinstance(node, AggregateNode | DistinctNode | ExceptNode)
    for below in node.inputs:
        if isinstance(placer.site.nodes[below], PunctuationsNode):
            placer.claim_node(below)
    lasting = all(one.lasts for one in groupings)
    if node.releases or fenced.tag is None or not lasting or not placer.site.is_new(node.id):
        return replace(fenced, node=node)
    keys = node.ports[0].key[1:]
    # The tag, which no promise knows, has a say in where groups are: promises go everywhere.
    told = key_punctuations(placer, streams, groupings, keys)
    found = [(replace(port, broadcast=True), purge) for port, purge in told]
    clocks = final_times(groupings)
    if found or clocks:
        ports = (*node.ports, *(port for port, _ in found))
        punctuators = 1 + max((purge.side for _, purge in found), default=-1)
        releases = Releases(tuple(purge for _, purge in found), punctuators, clocks)
        node = placer.site.connect(node, ports=ports, releases=releases)
    return replace(fenced, node=node)


def key_punctuations(
    placer: Placer,
    streams: Mapping[str, StreamDef],
    groupings: Sequence[GroupedBlock],
    keys: Sequence[Expression],
) -> Iterator[tuple[Port, Purge]]:
    """A port for each scheme that helps; nothing if some stream of a block has none."""
    members = [found for one in groupings for found in one.key_schemes()]
    if not keys or not members or not all(members):
        return
    for number, schemes in enumerate(members):
        for told in schemes:
            stream = streams[told.stream]
            columns = stream.schemes[told.scheme].columns
            own = tuple(Column(columns.index(column), stream.types[column]) for _, column in told.places)
            at = tuple(place for place, _ in told.places)
            node = place_punctuations(placer, stream, told.scheme)
            port = Port(node.id, node.types, node.streams, 0, own, broadcast=len(at) < len(keys))
            yield port, Purge(number, at)


def final_times(groupings: Sequence[GroupedBlock]) -> tuple[FinalTime, ...]:
    """The keys whose groups are final when the time in them has passed."""
    return tuple(FinalTime(place, expression) for place, expression in common_rising_keys(groupings))


def grouping_of(block: Block, plan: Plan, keys: Sequence[Expression] | None = None) -> GroupedBlock:
    """The grouping of a plan's rows by keys, or by all of their columns; the plan's block is known.

    A projection that is too large to be written in place is an item of the block; here nothing is
    computed, so what is beneath it counts.
    """
    if all(isinstance(item, Scan | Lookup) for item in block.items):
        seen = judged.Block(block.items, tuple(block.offsets[:-1]), block.conditions, block.outputs)
    else:
        seen = judged.block_of(plan)
    return GroupedBlock(
        seen, seen.outputs if keys is None else tuple(substitute(k, seen.outputs) for k in keys)
    )
