"""A network as it is kept in a file."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from seine.graph.claims import Claim, TagIdentity
from seine.graph.parameter_table import ParameterTable, TableRecord
from seine.graph.snapshot import Snapshot
from seine.operators.kinds import KINDS


class NetworkRecord(Struct, frozen=True):
    """A network as it is kept: its nodes in their JSON form, its tables, and who claims what."""

    version: int
    live: bool
    next_id: int
    nodes: list[dict[str, Any]]
    tables: dict[int, TableRecord]
    tags: dict[int, TagIdentity]
    queries: dict[str, list[Claim]]
    watched: dict[str, list[Claim]]

    def snapshot(self) -> Snapshot:
        """What the running pipeline sees of it."""
        nodes = {node.id: node for node in map(KINDS.read, self.nodes)}
        return Snapshot(nodes, {i: ParameterTable.of(table) for i, table in self.tables.items()})
