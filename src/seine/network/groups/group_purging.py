"""Ports for the punctuations and clocks that free groups before they are empty, because they are final.

`safety.final_groups` says which these are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Column
from seine.graph.node import Node, Port
from seine.network.groups.pipeline_breakers import BreakerRows
from seine.network.joins.heard_joins import HeardJoins
from seine.network.joins.join_punctuations import claim_punctuations, place_punctuations
from seine.network.site.placing import Placer
from seine.operators.group.aggregate import AggregateNode
from seine.operators.group.group_release import Releases
from seine.operators.group.set_operations import DistinctNode, ExceptNode, MultisetNode
from seine.operators.join.final_time import FinalTime
from seine.operators.join.join_purge import PurgeRule
from seine.operators.rank.over import OverNode
from seine.operators.rank.rank import RankNode
from seine.safety.states.final_groups import Finality, KeyScheme


def release(
    placer: Placer,
    streams: Mapping[str, StreamDef],
    breaker: BreakerRows,
    freeing: Finality,
    heard: HeardJoins,
) -> BreakerRows:
    """Connect a pipeline breaker that has not run with the punctuations and clocks that free its groups."""
    node = placer.site.nodes[breaker.node.id]
    assert isinstance(node, AggregateNode | DistinctNode | ExceptNode | MultisetNode | RankNode | OverNode)
    claim_punctuations(placer, [below for below in node.inputs if placer.site.nodes[below].is_punctuation])
    if node.releases or breaker.tag is None or not freeing or not placer.site.is_new(node.id):
        return replace(breaker, node=node)
    # The tag, of which punctuations say nothing, has a say in where groups are: they go everywhere. A group
    # that is chained to a join gets rows of its own bucket's part of it alone, so that part's word will do.
    # where the node has the keys as the query gives them
    keys = (
        [*range(len(node.ports[0].key))]
        if isinstance(node, RankNode | OverNode)
        else [c - 1 for c in breaker.columns]
    )
    listened = []
    for port, purge in key_punctuations(placer, streams, freeing, len(node.ports[0].key) - 1, heard):
        here = placer.site.nodes[port.node].stage == node.stage
        places = tuple(keys[place] for place in purge.places)
        purge = replace(purge, places=places, gathers=purge.gathers and not here)
        listened.append((replace(port, broadcast=not here), purge))
    ports = (*node.ports, *(port for port, _ in listened))
    times = [replace(time, place=keys[time.place]) for time in final_times(freeing)]
    if freeing.session is not None and breaker.session_end is not None:
        times.append(FinalTime(breaker.session_end - len(node.ports[0].key), (freeing.session,), True, False))
    releases = Releases(tuple(purge for _, purge in listened), len(freeing.schemes), tuple(times))
    return replace(breaker, node=placer.site.connect(node, ports=ports, releases=releases))


def key_punctuations(
    placer: Placer,
    streams: Mapping[str, StreamDef],
    finality: Finality,
    keys: int,
    heard: HeardJoins,
) -> Iterator[tuple[Port, PurgeRule]]:
    """A port for each scheme that makes groups final, and which of so many keys it punctuates."""
    for number, schemes in enumerate(finality.schemes):
        for use in schemes:
            stream = streams[use.stream]
            columns = stream.schemes[use.scheme].columns
            key = tuple(Column(columns.index(column), stream.types[column]) for _, column in use.places)
            at = tuple(place for place, _ in use.places)
            node, gathers = _punctuations(placer, stream, use, heard)
            port = Port(node.id, node.types, node.streams, 0, key, broadcast=len(at) < keys)
            yield port, PurgeRule(number, at, gathers)


def _punctuations(placer: Placer, stream: StreamDef, use: KeyScheme, heard: HeardJoins) -> tuple[Node, bool]:
    """The node of the punctuations of a stream, or of those that its join derives from them; and whether
    every bucket sends these.
    """
    if use.joined is None:
        return place_punctuations(placer, stream, use.scheme), False
    return heard.place(use)


def final_times(finality: Finality) -> tuple[FinalTime, ...]:
    """The keys whose groups are final when the time in them has passed."""
    return tuple(FinalTime(key.place, key.clocks, is_period=key.is_period) for key in finality.times)
