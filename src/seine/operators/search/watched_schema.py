"""The schema graph of a search as its nodes have it: tables and join conditions, by number."""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.types import Type


@dataclass(frozen=True)
class WatchedTable:
    """A stream or relation that is searched; its number tells its tuples from others."""

    number: int
    name: str
    names: tuple[str, ...]
    types: tuple[Type, ...]
    window: int | None = None
    retractable: bool = False
    arrival: int | None = None  # the place of the column that has the epoch
    valid: tuple[int, int] | None = None  # of a relation: the places of begin and end


@dataclass(frozen=True)
class WatchedEdge:
    """A join condition between two tables, compared in a common type."""

    number: int
    left: str
    left_column: int
    right: str
    right_column: int
    type: Type


@dataclass(frozen=True)
class WatchedSchema:
    """The tables and edges that there are."""

    members: tuple[WatchedTable, ...] = ()
    edges: tuple[WatchedEdge, ...] = ()
    relations: tuple[WatchedTable, ...] = ()

    @property
    def may_change(self) -> bool:
        """Whether tables and edges may come and go: in a live network, where tuples have epochs."""
        return any(member.arrival is not None for member in self.members)

    @property
    def tables(self) -> tuple[WatchedTable, ...]:
        """Streams, then relations."""
        return (*self.members, *self.relations)
