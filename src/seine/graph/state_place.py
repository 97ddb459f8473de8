"""Addresses of operator state in a network: a stateful node, or one of its inputs."""

from __future__ import annotations

from typing import NamedTuple


class StatePlace(NamedTuple):
    """A node that keeps state, and of its ports the one that is meant; None for the node as a whole.

    With `punctuations` only the punctuations are meant that the node holds, of all of its ports; with
    `groups` its groups.
    """

    node: int
    port: int | None = None
    punctuations: bool = False
    groups: bool = False


Holding = tuple[StatePlace, ...]  # where a query, or a stream of it, has rows
