"""Describes streams and relations for the check: what they punctuate, whether tuples expire.

Cites: SAFETY 2.3 (punctuation schemes)
"""

from __future__ import annotations

from collections.abc import Iterable

from seine.algebra.plan import Lookup, Scan
from seine.optimizer.block import Block
from seine.safety.graph.build_graph import BlockGraph, Offer, SafetyItem, build_graph


def graph_of_tables(block: Block) -> BlockGraph:
    """The graph of a block of streams and relations alone."""
    return build_graph(block, [table_facts(item) for item in block.items if isinstance(item, Scan | Lookup)])


def table_facts(item: Scan | Lookup) -> SafetyItem:
    """A stream or relation as the check sees it."""
    columns = tuple(field.name for field in item.schema)
    if isinstance(item, Lookup):
        return SafetyItem(item.alias, columns, finite=True)
    stream, lasting = item.stream, item.window is None
    offers = tuple(_punctuations(item))
    return SafetyItem(item.alias, columns, offers, not lasting, stream.retractable and lasting)


def _punctuations(scan: Scan) -> Iterable[Offer]:
    """The punctuations of a stream that never lapse or whose values begin anew, and its watermark.

    A punctuation that lapses allows matches again later, and a tuple without a window waits for them; with
    reused values no tuple from before matches. Of a stream whose tuples may be deleted at any time the
    watermark says too little.
    """
    stream = scan.stream
    since = stream.since
    for number, scheme in enumerate(stream.schemes):
        if scheme.reused:
            yield Offer(frozenset(scheme.columns), frozenset([since[number]]))
        elif scheme.lifespan is None:
            yield Offer(frozenset(scheme.columns))
    if scan.window is not None or not stream.retractable:
        yield Offer(frozenset(), frozenset([stream.time]))
