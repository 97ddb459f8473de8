"""A change of the schema, as keyword searches follow it: what is declared now, and from when on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from seine.algebra.definitions import JoinEdge, RelationDef, StreamDef
from seine.algebra.functions import common_type
from seine.algebra.types import Type
from seine.operators.search.watched_schema import WatchedEdge, WatchedTable


@dataclass(frozen=True)
class SchemaChange:
    """The tables and edges that are declared from the epoch `epoch` on.

    Of the input so far, `latest` is the largest time, and `progress` says up to which instant the streams
    are complete.
    """

    streams: Mapping[str, StreamDef]
    relations: Mapping[str, RelationDef]
    edges: Sequence[JoinEdge]
    epoch: int = 0
    latest: int = 0
    progress: Mapping[str, int] = field(default_factory=dict)

    def without(self, names: Iterable[str]) -> SchemaChange:
        """The change without some tables and what joins them."""
        gone = {*names}
        return replace(
            self,
            streams={name: stream for name, stream in self.streams.items() if name not in gone},
            relations={name: one for name, one in self.relations.items() if name not in gone},
            edges=[edge for edge in self.edges if not {edge.left, edge.right} & gone],
        )

    @property
    def joined(self) -> set[str]:
        """The tables that an edge joins."""
        return {end for edge in self.edges for end in (edge.left, edge.right)}

    def edges_after(
        self,
        before: Iterable[WatchedEdge],
        tables: Mapping[str, Sequence[Type]],
        retractable: Iterable[str],
        take_id: Callable[[], int],
    ) -> list[WatchedEdge]:
        """The edges between tables, by the types of their columns; those that stood keep their number.

        Dropped ones follow, as long as tuples may come of `retractable` streams that arrived before.
        """
        standing = {(ends_of(edge), edge.type): edge for edge in before if edge.stands}
        now = []
        for edge in self.edges:
            if {edge.left, edge.right} <= tables.keys():
                type_ = common_type([tables[table][column] for table, column in edge_columns(edge)])
                kept = standing.get((ends_of(edge), type_))
                now.append(kept or WatchedEdge(take_id(), *ends_of(edge), type_, self.epoch))
        numbers = {edge.number for edge in now}
        dropped = [self._dropped(edge) for edge in before if edge.number not in numbers]
        passed = [self.progress[stream] for stream in retractable if stream in self.progress]
        return [*now, *(edge for edge in dropped if any(edge.latest >= instant for instant in passed))]

    def _dropped(self, edge: WatchedEdge) -> WatchedEdge:
        return replace(edge, until=self.epoch, latest=self.latest) if edge.stands else edge


def gone_tables(tables: Iterable[WatchedTable], edges: Iterable[WatchedEdge]) -> list[WatchedTable]:
    """Of streams that are searched no more, those that a dropped edge leads to."""
    dropped = [edge for edge in edges if not edge.stands]
    return [
        table
        for table in {table.number: table for table in tables}.values()
        if any(table.name in (edge.left, edge.right) and table.number < edge.number for edge in dropped)
    ]


def ends_of(edge: JoinEdge | WatchedEdge) -> tuple[str, int, str, int]:
    return edge.left, edge.left_column, edge.right, edge.right_column


def edge_columns(edge: JoinEdge | WatchedEdge) -> tuple[tuple[str, int], tuple[str, int]]:
    """Table and column of both sides."""
    return (edge.left, edge.left_column), (edge.right, edge.right_column)
