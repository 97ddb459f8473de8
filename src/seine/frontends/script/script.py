"""What a script comes to: the declarations that stand at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from seine.algebra.definitions import JoinEdge, RelationDef, StreamDef
from seine.algebra.plan import Query
from seine.errors import Position


@dataclass
class Declarations:
    """Everything declared, by folded name (of queries in lower case); edges in order of declaration."""

    streams: dict[str, StreamDef] = field(default_factory=dict)
    relations: dict[str, RelationDef] = field(default_factory=dict)
    edges: list[JoinEdge] = field(default_factory=list)
    queries: dict[str, Query] = field(default_factory=dict)

    def copy(self) -> Declarations:
        return Declarations(dict(self.streams), dict(self.relations), list(self.edges), dict(self.queries))

    @property
    def tables(self) -> Mapping[str, StreamDef | RelationDef]:
        return {**self.streams, **self.relations}

    @property
    def paths(self) -> list[str]:
        """Where all streams and relations are read from."""
        return [table.source.path for table in self.tables.values() if table.source is not None]


@dataclass(frozen=True)
class Script:
    """A parsed script: its declarations, where each of its own queries is declared, and what it dropped.

    A query that was known before and is replaced is in `positions` and in `dropped`.
    """

    declarations: Declarations
    positions: dict[str, Position]
    dropped: dict[str, Query] = field(default_factory=dict)

    @property
    def queries(self) -> Iterator[tuple[Query, Position]]:
        """The queries that this script declared and did not drop, in order."""
        for key, position in self.positions.items():
            yield self.declarations.queries[key], position
