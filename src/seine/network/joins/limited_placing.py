"""Placing a memory-limited join: one node for all of its streams and relations."""

from __future__ import annotations

from seine.algebra.expressions import columns_of
from seine.algebra.plan import Scan
from seine.algebra.star import MemoryLimit
from seine.network.joins.join_placing import Prefilters, place_stream
from seine.network.plan.block_conditions import Conditions, shift_back
from seine.network.plan.star_block import star_of
from seine.network.plan.strategy import Strategy
from seine.network.site.placing import BlockRows, Placer, port_of
from seine.operators.limited.limited_join import LimitedNode, limited_signature
from seine.optimizer.block import Block


def place_limited(placer: Placer, prefilters: Prefilters, block: Block, memory: MemoryLimit) -> BlockRows:
    """The rows of a block that is joined within a memory.

    What its prefilters keep out takes no memory, so they ask the same, whatever the strategy.
    """
    star, owner = star_of(block), placer.join_owner
    scans = [
        (item, start)
        for item, start in zip(block.items, block.offsets, strict=False)
        if isinstance(item, Scan)
    ]
    sources = [place_stream(placer, scan.stream) for scan, _ in scans]
    identity = limited_signature(tuple(source.id for source in sources), star, memory, owner)
    node = placer.site.find(identity)
    if node is None:
        ports = tuple(port_of(prefilters.new(source)) for source in sources)
        types = [type_ for item in star.items for type_ in item.types]
        streams = [scan.stream.name for scan, _ in scans]
        common = placer.common(types, streams, streams, 0, 1, out=(), owner=owner)
        node = placer.site.insert(LimitedNode(ports=ports, star=star, memory=memory, **common), identity)
    conditions = Conditions(block.conditions, Strategy())
    for port, (scan, start) in zip(node.ports, scans, strict=True):
        stream_conditions = conditions.necessary(start, start + len(scan.schema))
        placer.claim_node(port.node)
        placer.claim_filter(port.node, shift_back(stream_conditions, start))
    placer.claim_node(node.id)
    placer.claim_columns(node.id, set().union(*map(columns_of, block.outputs)))
    return BlockRows(placer.site.nodes[node.id], (), (), block.outputs)
