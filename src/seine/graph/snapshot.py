"""A version of the network as the running pipeline sees it: nodes, tables and claims; the change to the next.

A query claims nodes, rows of parameter tables, columns and tags. A claim is counted, and can be undone; what
nobody claims is freed. As JSON it is a list that starts with its kind.

>>> import msgspec
>>> msgspec.json.encode([NodeClaim(3), ColumnsClaim(4, (0, 2))])
b'[["node",3],["columns",4,[0,2]]]'
>>> msgspec.json.decode(b'["row",5,1]', type=Claim)
RowClaim(table=5, number=1)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from seine.algebra.types import Type
from seine.graph.node import Node
from seine.graph.node_kinds import NodeKinds
from seine.graph.parameter_table import ParameterTable, TableRow


class NodeClaim(Struct, frozen=True, array_like=True, tag="node", gc=False):
    """A node stays as long as a query uses it."""

    node: int


class RowClaim(Struct, frozen=True, array_like=True, tag="row", gc=False):
    """A row of constants stays in a parameter table."""

    table: int
    number: int


class ColumnsClaim(Struct, frozen=True, array_like=True, tag="columns"):
    """A join or lookup has to give these columns."""

    node: int
    positions: tuple[int, ...]


class TagClaim(Struct, frozen=True, array_like=True, tag="tag", gc=False):
    """A tag goes on to stand for the rows of one set of constants."""

    tag: int


class TagIdentity(NamedTuple):
    """What a tag stands for: the constants, as text, of each input of a node."""

    node: int
    constants: tuple[tuple[str, ...], ...]


Claim: TypeAlias = NodeClaim | RowClaim | ColumnsClaim | TagClaim


def claimed_nodes(claims: Iterable[Claim]) -> Iterator[int]:
    """The ids of the nodes among claims, once for each claim, in order."""
    return (claim.node for claim in claims if isinstance(claim, NodeClaim))


class RowChange(NamedTuple):
    """A row of a table that is new or claimed by others than before; None if it is gone."""

    table: int
    number: int
    row: TableRow | None


class NetworkChange(Struct, frozen=True):
    """The difference between a version and the one before it; None stands for what was removed."""

    nodes: dict[int, dict[str, Any] | None] = {}  # in their JSON form
    tables: dict[int, list[str] | None] = {}  # the types of a new table's columns
    rows: list[RowChange] = []
    tags: dict[int, TagIdentity | None] = {}
    queries: dict[str, list[Claim] | None] = {}
    watched: dict[str, list[Claim] | None] = {}
    next_id: int = 1


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
        for number, position, row in change.rows:
            if number in tables:
                if row is None:
                    tables[number].drop(position)
                else:
                    tables[number].put(row)
        for i, node in change.nodes.items():
            if node is None:
                nodes.pop(i, None)
            else:
                nodes[i] = kinds.read(node)
        owners = {i for i, node in nodes.items() if touched.intersection(node.tables)}
        return Snapshot(nodes, tables), owners | change.nodes.keys()


def topological(nodes: dict[int, Node]) -> list[int]:
    """The ids of nodes, inputs before what reads them and else ascending."""
    order: dict[int, None] = {}
    for start in sorted(nodes):
        waiting = [start]
        while waiting:
            missing = [i for i in nodes[waiting[-1]].inputs if i not in order]
            if missing:
                waiting += reversed(missing)
            else:
                order[waiting.pop()] = None
    return list(order)
