"""Hash-consing: two nodes that do the same to the same inputs are one node.

The builder asks here, and nowhere else, whether what it is about to add already exists.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable

from seine.network.nodes import KINDS, Node

Signature = tuple[Hashable, ...]


class ConsingIndex:
    """The nodes of a network by signature."""

    def __init__(self) -> None:
        self._ids: dict[Signature, int] = {}

    def find(self, candidate: Node) -> int | None:
        """The id of the node that computes the same, if there is one."""
        return self._ids.get(signature(candidate))

    def enter(self, node: Node) -> None:
        self._ids[signature(node)] = node.id

    def leave(self, node: Node) -> None:
        del self._ids[signature(node)]


_COMMON = {field.name for field in dataclasses.fields(Node)}
_PARAMETERS = {
    kind: tuple(field.name for field in dataclasses.fields(cls) if field.name not in _COMMON)
    for kind, cls in KINDS.items()
}


def signature(node: Node) -> Signature:
    """What a node does: its kind, its inputs with their keys, and its own parameters.

    Everything else, such as types and stage, follows from these.
    """
    ports = tuple((port.node, port.key) for port in node.ports)
    return (node.kind, ports, *(getattr(node, name) for name in _PARAMETERS[node.kind]))
