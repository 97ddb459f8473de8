"""A network version as the running pipeline sees it: nodes and tables, and the step to the next version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seine.algebra.types import Type
from seine.graph.node import Node
from seine.graph.node_kinds import NodeKinds
from seine.graph.parameter_table import ParameterTable


@dataclass(frozen=True)
class NetworkChange:
    """What one version has that the one before had not, as JSON values; None is something gone."""

    nodes: dict[int, dict[str, Any] | None] = field(default_factory=dict)
    tables: dict[int, list[str] | None] = field(default_factory=dict)  # the types of a new table's columns
    rows: list[tuple[int, int, list[Any] | None]] = field(default_factory=list)
    tags: dict[int, Any] = field(default_factory=dict)
    queries: dict[str, list[Any] | None] = field(default_factory=dict)
    watched: dict[str, list[Any] | None] = field(default_factory=dict)
    next_id: int = 1

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))

    @staticmethod
    def from_json(form: dict[str, Any]) -> NetworkChange:
        return NetworkChange(
            {int(i): node for i, node in form["nodes"].items()},
            {int(i): types for i, types in form["tables"].items()},
            [(table, row, values) for table, row, values in form["rows"]],
            {int(i): tag for i, tag in form["tags"].items()},
            form["queries"],
            form["watched"],
            form["next_id"],
        )


@dataclass(frozen=True)
class Snapshot:
    """The nodes and parameter tables of one version, never changed."""

    nodes: Mapping[int, Node] = field(default_factory=dict)
    tables: Mapping[int, ParameterTable] = field(default_factory=dict)

    def applied(self, change: NetworkChange, kinds: NodeKinds) -> tuple[Snapshot, set[int]]:
        """The next version, of nodes of these kinds, and the ids of those that are new or run differently."""
        nodes, tables = dict(self.nodes), dict(self.tables)
        for number, types in change.tables.items():
            if types is None:
                tables.pop(number, None)
            else:
                tables[number] = ParameterTable(list(map(Type.parse, types)))
        touched = {table for table, _, _ in change.rows}
        for number in touched & self.tables.keys() & tables.keys():
            tables[number] = self.tables[number].copy()
        for number, row, form in change.rows:
            if number in tables:
                if form is None:
                    tables[number].drop(row)
                else:
                    tables[number].put(form)
        for i, node in change.nodes.items():
            if node is None:
                nodes.pop(i, None)
            else:
                nodes[i] = kinds.read(node)
        owners = {i for i, node in nodes.items() if touched.intersection(node.tables)}
        return Snapshot(nodes, tables), owners | change.nodes.keys()
