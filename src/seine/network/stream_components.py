"""The streams that queries combine: connected components of the streams beneath the nodes of a network."""

from __future__ import annotations

from collections.abc import Iterable

from seine.graph.node import Node


def stream_components(nodes: Iterable[Node]) -> tuple[frozenset[str], ...]:
    """Streams that some query joins, unites or excepts, directly or by way of others, together.

    A stream that is combined with no other one is in no component.
    """
    return connected(frozenset(node.streams) for node in nodes if len(node.streams) > 1)


def connected(groups: Iterable[frozenset[str]]) -> tuple[frozenset[str], ...]:
    """Groups that have a member in common become one; those of one member are left out.

    >>> groups = [frozenset("ab"), frozenset("cd"), frozenset("be"), frozenset("f")]
    >>> sorted("".join(sorted(group)) for group in connected(groups))
    ['abe', 'cd']
    """
    separate: list[frozenset[str]] = []
    for group in set(groups):
        apart = [other for other in separate if not other & group]
        touching = [other for other in separate if other & group]
        separate = [*apart, group.union(*touching)]
    return tuple(sorted((group for group in separate if len(group) > 1), key=sorted))
