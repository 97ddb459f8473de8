"""Where rows of streams are held in a network: the inputs of its joins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seine.graph.node import Node


def state_places(used: Iterable[int], nodes: Mapping[int, Node]) -> dict[str, tuple[str, ...]]:
    """The inputs of joins, as `node/port`, at which the nodes `used` hold rows, by the names of the streams.

    Rows that several streams have made are listed under the names of all of them. An input that brings
    punctuations holds no rows.
    """
    places: dict[str, list[str]] = {}
    for node in (nodes[i] for i in sorted(used) if i in nodes):
        if node.is_join:
            for number, port in enumerate(node.ports):
                if not nodes[port.node].is_punctuation:
                    places.setdefault(", ".join(port.streams), []).append(f"{node.id}/{number}")
    return {streams: tuple(inputs) for streams, inputs in places.items()}
