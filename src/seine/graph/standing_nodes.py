"""The view of the network that a node computes its signature from (hash-consing).

Two nodes that do the same to the same inputs are one node. A prefilter belongs to its join, a
fan to its pipeline breaker, so they have no signature of their own.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from seine.graph.parameter_table import ParameterTable

if TYPE_CHECKING:
    from seine.graph.node import Node

Signature = tuple[Hashable, ...]


class Family(NamedTuple):
    """Nodes that builders compare with one another, found by `key`; `compared` distinguishes them."""

    key: Hashable
    compared: Any = None


class NodesView(Protocol):
    """The nodes that are in a network now, and their tables; the site implements it."""

    @property
    def nodes(self) -> Mapping[int, Node]: ...

    @property
    def tables(self) -> Mapping[int, ParameterTable]: ...

    def beneath_prefilter(self, node: Node, port: int) -> int:
        """The node whose rows arrive at a port, prefilters apart."""
        ...
