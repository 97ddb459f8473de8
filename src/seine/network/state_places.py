"""The join inputs at which the rows of streams are held in state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seine.graph.node import Holding, Node, StatePlace


def state_places(used: Iterable[int], nodes: Mapping[int, Node]) -> dict[tuple[str, ...], Holding]:
    """The inputs of joins at which the nodes `used` hold rows, by the names of the streams.

    Rows that several streams have made are listed under the names of all of them. An input that brings
    punctuations holds no rows.
    """
    places: dict[tuple[str, ...], list[StatePlace]] = {}
    for node in (nodes[i] for i in sorted(used) if i in nodes):
        if node.is_join:
            for number, port in enumerate(node.ports):
                if not nodes[port.node].is_punctuation:
                    places.setdefault(port.streams, []).append(StatePlace(node.id, number))
    return {streams: tuple(inputs) for streams, inputs in places.items()}
