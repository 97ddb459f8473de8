"""The network as lines, one a node: what it does, who uses it, and why they share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seine.algebra.definitions import RelationDef, StreamDef
from seine.errors import SeineError
from seine.graph.node import Node
from seine.network.network import Network
from seine.network.show.labels import Labels
from seine.network.show.wording import enumerate_names

Streams = Mapping[str, StreamDef]
Relations = Mapping[str, RelationDef]
States = Mapping[str, Sequence[str]]  # what there is to say about the states of each query


@dataclass(frozen=True)
class NodeLine:
    """One node as it is shown."""

    node: Node
    text: str
    details: tuple[str, ...]
    users: tuple[str, ...]

    @property
    def reason(self) -> str | None:
        """Why the users share the node; None if there is only one."""
        return self.node.reason if len(self.users) > 1 else None


def explain_lines(
    network: Network, streams: Streams, query: str | None = None, *, relations: Relations | None = None
) -> list[NodeLine]:
    """The nodes of the network, or of one query of it, inputs first."""
    labels = Labels(network, streams, relations or {})
    return [
        NodeLine(node, labels.describe(node), tuple(labels.details(node)), tuple(_users(network, node)))
        for node in _shown(network, query)
    ]


def _users(network: Network, node: Node) -> list[str]:
    """The queries of a node; of a stream that searches read together, those of the nodes that read it."""
    readers = [] if network.users(node.id) else [one for one in network if node.id in one.inputs]
    return [*dict.fromkeys([*network.users(node.id), *(u for one in readers for u in _users(network, one))])]


def _shown(network: Network, query: str | None) -> list[Node]:
    if query is None:
        return list(network)
    known_query(network, query)
    return network.beneath(query)


def known_query(network: Network, query: str) -> None:
    """Refuses a name that no query has."""
    if query not in network.queries:
        raise SeineError(f"there is no query {query!r}", hint=f"queries: {enumerate_names(network.queries)}")
