"""Placing a stream: its source, and the resolve node if its tuples may be deleted."""

from __future__ import annotations

from seine.algebra.definitions import StreamDef
from seine.algebra.document_plan import is_published
from seine.algebra.expressions import Column
from seine.algebra.plan import Plan, Scan, walk
from seine.errors import SeineError
from seine.graph.node import Node
from seine.network.site.placing import Placer, port_of
from seine.operators.documents.publish_node import publish_signature
from seine.operators.stream.resolve_node import ResolveNode
from seine.operators.stream.source_node import SourceNode, source_signature


def streams_of(plan: Plan) -> dict[str, StreamDef]:
    """The streams that a plan reads, by name."""
    return {scan.stream.name: scan.stream for scan in walk(plan) if isinstance(scan, Scan)}


def place_stream(placer: Placer, stream: StreamDef) -> Node:
    """The tuples of a stream, those that were deleted apart."""
    if is_published(stream):
        return _place_published(placer, stream)
    hold = (stream.name,) if stream.retractable else ()
    columns = len(stream.fields) - (stream.arrival is not None)
    source = _standing(placer, stream, columns)
    if source is None:
        common = placer.common(stream.types, (stream.name,), hold, 0, 0, owner="")
        source = _placed(placer, SourceNode(ports=(), stream=stream.name, columns=columns, **common))
    if not stream.retractable:
        return source
    # Neither its time nor its arrival makes a tuple another one.
    alike = tuple(
        Column(index, type_)
        for index, type_ in enumerate(stream.types)
        if index not in (stream.time, stream.arrival)
    )
    return _placed(
        placer,
        ResolveNode(
            ports=(port_of(source, alike),),
            stream=stream.name,
            window=stream.window,
            **placer.common(stream.types, source.streams, source.hold, 1, 1, owner=placer.resolve_owner),
        ),
    )


def _place_published(placer: Placer, stream: StreamDef) -> Node:
    """What a query publishes; its reader claims all that makes it, so that it stands while it is read."""
    node = placer.site.find(publish_signature(stream.name))
    if node is None:
        raise SeineError(f"nobody publishes stream {stream.name!r}", hint="create its publisher first")
    waiting = [node.id]
    while waiting:
        placer.claim_node(waiting[-1])
        waiting += placer.site.nodes[waiting.pop()].inputs
    return node


def _standing(placer: Placer, stream: StreamDef, columns: int) -> Node | None:
    """The source of a stream that is there already, claimed."""
    node = placer.site.find(source_signature(stream.name, columns))
    if node is not None:
        placer.claim_node(node.id)
    return node


def _placed(placer: Placer, candidate: SourceNode | ResolveNode) -> Node:
    identity = candidate.signature(placer.site)
    assert identity is not None
    return placer.find_or_insert(candidate, identity)
