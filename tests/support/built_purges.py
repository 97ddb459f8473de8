"""What the operators of a built network free, read from its nodes alone: nothing here asks the check.

A stream's rows are freed if every join that holds them, or rows made of them, has something that frees these:
a window, punctuations that last, or a bound on times. It is the counterpart of the verdict, operator by
operator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from seine.algebra.definitions import StreamDef
from seine.algebra.plan import Query, Scan, walk
from seine.graph.node import Node
from seine.network.network import Network
from seine.operators.group.aggregate import AggregateNode
from seine.operators.group.set_operations import DistinctNode, ExceptNode, MultisetNode
from seine.operators.join.derived_punctuations import DerivedPunctuationsNode
from seine.operators.join.join import JoinNode
from seine.operators.join.time_bounds import reaches
from seine.operators.multi_join.multi_join import MultiJoinNode
from seine.operators.multi_join.multi_join_shape import bounds_of
from seine.operators.stream.source import PunctuationsNode


def streams_freed_by_joins(network: Network, query: Query) -> dict[str, bool]:
    """For each stream of a query whether all joins free the rows that are made of its tuples."""
    streams = {part.stream.name: part.stream for part in walk(query.plan) if isinstance(part, Scan)}
    freed = dict.fromkeys(streams, True)
    for node in network.beneath(query.name):
        if isinstance(node, JoinNode | MultiJoinNode):
            for port, is_freed in enumerate(_freed_ports(network, node, streams)):
                for name in node.ports[port].streams:
                    freed[name] = freed[name] and is_freed
    return freed


def groups_released(network: Network, query: Query) -> list[bool]:
    """For each node of groups or of rows of a set operator whether punctuations or clocks free them."""
    nodes = [node for node in network.beneath(query.name) if not isinstance(node, JoinNode | MultiJoinNode)]
    kept = [
        node for node in nodes if isinstance(node, AggregateNode | DistinctNode | ExceptNode | MultisetNode)
    ]
    return [_releases_groups(node) for node in kept]


def _releases_groups(node: AggregateNode | DistinctNode | ExceptNode | MultisetNode) -> bool:
    """Groups go if every stream beneath has a punctuation for them, or a time in their key passes."""
    if not node.releases:
        return False
    sides = {purge.side for purge in node.releases.purges}
    punctuated = bool(sides) and sides == set(range(node.releases.punctuators))
    return punctuated or bool(node.releases.clocks)


def _freed_ports(
    network: Network, node: JoinNode | MultiJoinNode, streams: Mapping[str, StreamDef]
) -> Iterator[bool]:
    if isinstance(node, JoinNode):
        yield from (_frees_side(network, node, side, streams) for side in (0, 1))
    else:
        yield from (_frees_port(network, node, port, streams) for port in range(node.width))


def _frees_side(network: Network, node: JoinNode, side: int, streams: Mapping[str, StreamDef]) -> bool:
    if _expires(node.ports[side].streams, streams):
        return True
    purges = zip(node.purges, node.ports[2:], strict=True)
    if any(
        purge.side == 1 - side and _lasts(network.nodes[port.node], streams, network)
        for purge, port in purges
    ):
        return True
    return reaches(node, network.tables)[side] is not None


def _lasts(node: Node, streams: Mapping[str, StreamDef], network: Network) -> bool:
    if isinstance(node, DerivedPunctuationsNode):
        return _lasts(network.nodes[node.inputs[1]], streams, network)
    assert isinstance(node, PunctuationsNode)
    return streams[node.stream].schemes[node.scheme].lifespan is None


def _frees_port(network: Network, node: MultiJoinNode, port: int, streams: Mapping[str, StreamDef]) -> bool:
    """By chains: a port is closed when all groups of one of its schemes are known, or a bound is."""
    windows = [_expires(one.streams, streams) for one in node.ports[: node.width]]
    if windows[port]:
        return True
    closed = {port, *range(node.width, node.width + len(node.statics))}
    schemes = [
        use
        for use, one in zip(node.punctuated, node.ports[node.width :], strict=True)
        if _lasts(network.nodes[one.node], streams, network)
    ]
    bounds = bounds_of(node, network.tables)
    while True:
        known = {member.group for member in node.members if member.port in closed}
        more = {use.port for use in schemes if {*use.groups} <= known}
        more |= {bound.port for bound in bounds if bound.other in closed}
        if more <= closed:
            break
        closed |= more
    others = {*range(node.width)} - {port}
    return others <= closed or any(windows[other] for other in others & closed)


def _expires(names: tuple[str, ...], streams: Mapping[str, StreamDef]) -> bool:
    return any(streams[name].window is not None for name in names)
