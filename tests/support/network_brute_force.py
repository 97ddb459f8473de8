"""Candidate networks by brute force: grow trees by any leaf, tell them apart over all roots, then filter."""

from __future__ import annotations

from typing import Any

from seine.keyword_networks.expanded_schema import StreamingSchema

Label = tuple[int, int]  # stream, keyword set
Tree = tuple[tuple[Label, ...], tuple[tuple[int, int, int], ...]]  # nodes; edges by position and condition


def all_networks(schema: StreamingSchema, keywords: int, max_tuples: int) -> set[Any]:
    """The codes of all candidate networks."""
    everything = (1 << keywords) - 1
    level: dict[Any, Tree] = {}
    for stream in range(len(schema.streams)):
        for held in range(everything + 1):
            tree: Tree = (((stream, held),), ())
            level[free_code(*tree)] = tree
    networks = set()
    for size in range(1, max_tuples + 1):
        networks |= {code for code, tree in level.items() if is_network(*tree, everything)}
        if size < max_tuples:
            level = {
                free_code(*tree): tree for old in level.values() for tree in _grown(schema, old, everything)
            }
    return networks


def _grown(schema: StreamingSchema, tree: Tree, everything: int) -> list[Tree]:
    nodes, edges = tree
    return [
        ((*nodes, (beyond, held)), (*edges, (at, len(nodes), number)))
        for at, (stream, _) in enumerate(nodes)
        for number, (a, b) in enumerate(schema.conditions)
        for beyond in {far for near, far in ((a, b), (b, a)) if near == stream}
        for held in range(everything + 1)
    ]


def is_network(nodes: tuple[Label, ...], edges: tuple[tuple[int, int, int], ...], everything: int) -> bool:
    """Total, and every leaf holds a keyword that no other node holds."""
    held = [keywords for _, keywords in nodes]
    union = 0
    for one in held:
        union |= one
    degrees = [sum(at in edge[:2] for edge in edges) for at in range(len(nodes))]
    return union == everything and (
        len(nodes) == 1
        or all(
            any(held[leaf] >> k & 1 and sum(one >> k & 1 for one in held) == 1 for k in range(32))
            for leaf in range(len(nodes))
            if degrees[leaf] == 1
        )
    )


def free_code(nodes: tuple[Label, ...], edges: tuple[tuple[int, int, int], ...]) -> Any:
    """The same for trees that are equal but for the order of their nodes: least over all roots."""

    def code(at: int, before: int, by: int) -> Any:
        beyond = [(b if a == at else a, number) for a, b, number in edges if at in (a, b)]
        children = sorted(code(child, at, number) for child, number in beyond if child != before)
        return (nodes[at], by, tuple(children))

    return min(code(root, -1, -1) for root in range(len(nodes)))
