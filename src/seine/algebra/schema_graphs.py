"""The schema graphs over what is declared, each made once: very many searches are over the same tables.

A search is kept as JSON with the names of its tables alone: what they are, and which edges there are between
them, is what is declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from seine.algebra.definitions import JoinEdge, RelationDef, StreamDef
from seine.algebra.search_plan import SchemaGraph, Search
from seine.algebra.types import STRING, Field

Table = StreamDef | RelationDef


class SchemaGraphs:
    """Tables and edges that are declared, and the graphs that searches have of them."""

    def __init__(self, tables: Mapping[str, Table], edges: Sequence[JoinEdge]) -> None:
        self.tables = tables
        self._edges = edges
        self._made: dict[frozenset[str], SchemaGraph] = {}

    def over(self, names: Iterable[str]) -> SchemaGraph:
        """The graph of these tables, in the order of their declaration, with the edges between them."""
        chosen = frozenset(names)
        if chosen not in self._made:
            tables = [table for name, table in self.tables.items() if name in chosen]
            self._made[chosen] = SchemaGraph(
                tuple(table for table in tables if isinstance(table, StreamDef)),
                tuple(table for table in tables if isinstance(table, RelationDef)),
                tuple(edge for edge in self._edges if {edge.left, edge.right} <= chosen),
            )
        return self._made[chosen]

    @cached_property
    def searched(self) -> list[str]:
        """What a search without OVER is over: streams with a STRING column, and whatever has an edge."""
        joined = {end for edge in self._edges for end in (edge.left, edge.right)}
        return [
            name
            for name, table in self.tables.items()
            if name in joined or (isinstance(table, StreamDef) and text_columns(table))
        ]

    def rebound(self, plan: Search) -> Search:
        """A search over what is declared now; without OVER over those of its kind of time that may enter."""
        names = [*plan.graph.tables] if plan.fixed else [n for n in self.searched if self._enters(plan, n)]
        graph = self.over(names)
        return plan if graph == plan.graph else replace(plan, graph=graph)

    def _enters(self, plan: Search, name: str) -> bool:
        """Streams without a window that came after a search do not enter it, nor do followed relations."""
        table = self.tables[name]
        if isinstance(table, RelationDef):
            return table.domain in (None, plan.graph.domain) and not table.followed
        return table.domain == plan.graph.domain and (table.window is not None or name in plan.graph.tables)


def text_columns(table: Table) -> list[str]:
    """The names of the columns in which words are looked for."""
    return [field.name for field in table.fields if field.type == STRING]


def unread_columns(table: Table) -> list[Field]:
    """The columns in which no words are looked for; times, in which nobody expects them, are left out."""
    fields = table.declared if isinstance(table, StreamDef) else table.fields
    times = {table.time} if isinstance(table, StreamDef) else {*(table.valid or ())}
    return [field for place, field in enumerate(fields) if field.type != STRING and place not in times]
