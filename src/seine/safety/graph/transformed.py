"""The transformed punctuation graph: streams that close one another merge, until no more do.

A node is a set of streams of which each closes all others. It has an edge to another node if what
its streams know is enough for a closer of one of that node's streams. Nodes on a cycle merge, and
then know more together. If one node is left, every stream closes every other.

Cites: SAFETY 4.3 (Def 11, Thm 5)
Differs: Def 11 adds an edge by a scheme of several columns only from a merged node; a single stream
that knows all of them has one too, else Thm 5 fails.
"""

from __future__ import annotations

from seine.safety.graph.closure import closure
from seine.safety.graph.components import components
from seine.safety.graph.punctuation_graph import Graph


def transformed(graph: Graph) -> list[frozenset[int]]:
    """The nodes that are left, in the order of their first streams.

    >>> from seine.safety.graph.punctuation_graph import PUNCTUATION, Closer, GraphItem
    >>> def stream(name, gives, *schemes):
    ...     closers = tuple(Closer(frozenset(s), PUNCTUATION, ()) for s in schemes)
    ...     return GraphItem(name, frozenset(gives), closers)
    >>> b, c, a = 0, 1, 2
    >>> s1, s3 = stream("s1", [a, b], [b]), stream("s3", [c, a], [c, a])
    >>> printed = Graph((s1, stream("s2", [b, c], [b]), s3), 3)
    >>> repaired = Graph((s1, stream("s2", [b, c], [b], [c]), s3), 3)
    >>> [[sorted(node) for node in transformed(figure)] for figure in (printed, repaired)]
    [[[0, 1], [2]], [[0, 1, 2]]]
    """
    nodes = [frozenset([number]) for number in range(len(graph.items))]
    while True:
        component, count = components([_ahead(graph, nodes, node) for node in nodes])
        if count == len(nodes):
            return sorted(nodes, key=min)
        merged: list[frozenset[int]] = [frozenset()] * count
        for place, node in enumerate(nodes):
            merged[component[place]] |= node
        nodes = merged


def _ahead(graph: Graph, nodes: list[frozenset[int]], node: frozenset[int]) -> list[int]:
    """The nodes that an edge leads to: one of their streams is closed by what this node's streams know."""
    known = frozenset(facts_of(graph, node))
    return [
        place
        for place, other in enumerate(nodes)
        if other != node
        and any(closer.needs <= known for number in other for closer in graph.items[number].closers)
    ]


def facts_of(graph: Graph, node: frozenset[int]) -> list[int]:
    """The facts that tuples of some streams give by themselves, with the rules and what is given."""
    alone = Graph((), graph.facts, graph.rules, graph.given)
    return [*closure(alone, facts=[f for number in node for f in graph.items[number].gives]).causes]
