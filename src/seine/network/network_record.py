"""A network as it is kept in files: whole, and what each later version changes in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec import Struct

from seine.graph.node_kinds import node_to_json
from seine.graph.parameter_table import ParameterTable, TableRecord
from seine.graph.snapshot import Claim, NetworkChange, RowChange, Snapshot, TagIdentity
from seine.network.site.node_memo import NodeMemo
from seine.operators.kinds import KINDS

Claims = dict[str, list[Claim]]  # of queries, or of streams that are watched, by name
Key = TypeVar("Key")
Value = TypeVar("Value")


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


@dataclass
class RestoredNetwork:
    """What a record and the changes since then come to."""

    version: int
    next_id: int
    snapshot: Snapshot
    tags: dict[int, TagIdentity]
    queries: Claims
    watched: Claims

    @staticmethod
    def of(record: NetworkRecord, changes: Iterable[NetworkChange]) -> RestoredNetwork:
        """The network as it was recorded, and then changed."""
        tags, queries, watched = dict(record.tags), dict(record.queries), dict(record.watched)
        restored = RestoredNetwork(record.version, record.next_id, record.snapshot(), tags, queries, watched)
        for change in changes:
            restored._apply(change)
        return restored

    def _apply(self, change: NetworkChange) -> None:
        self.snapshot, _ = self.snapshot.applied(change, KINDS)
        _update(self.tags, change.tags)
        _update(self.queries, change.queries)
        _update(self.watched, change.watched)
        self.version, self.next_id = self.version + 1, change.next_id


def change_of(
    site: NodeMemo,
    queries: Mapping[str, list[Claim] | None],
    watched: Mapping[str, list[Claim] | None],
) -> NetworkChange:
    """All that was touched since the last version, as it is now; None is something gone."""
    nodes, tables, tags = site.nodes, site.tables, site.tags
    return NetworkChange(
        {i: node_to_json(nodes[i]) if i in nodes else None for i in sorted(site.touched_nodes)},
        {i: [str(t) for t in tables[i].types] if i in tables else None for i in sorted(site.touched_tables)},
        [
            RowChange(table, row, tables[table].row(row) if row in tables[table].rows else None)
            for table, row in sorted(site.touched_rows)
            if table in tables
        ],
        {i: tags[i][0] if i in tags else None for i in sorted(site.touched_tags)},
        dict(queries),
        dict(watched),
        site.next_id,
    )


def _update(known: dict[Key, Value], changed: Mapping[Key, Value | None]) -> None:
    """Take in what is new; None is something gone."""
    for key, value in changed.items():
        known.pop(key, None)
        if value is not None:
            known[key] = value
