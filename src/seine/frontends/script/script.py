"""The result of parsing a script: the declarations in force at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from seine.algebra.definitions import JoinEdge, RelationDef, SinkDef, StreamDef, ViewDef
from seine.algebra.document_plan import publication
from seine.algebra.plan import Query
from seine.errors import Position


@dataclass
class Declarations:
    """All declarations by folded name (queries and sinks by lower-case name); join edges in their order.

    `published` has the streams that queries publish, by name: `add_query` and `remove_query` keep it true.
    """

    streams: dict[str, StreamDef] = field(default_factory=dict)
    relations: dict[str, RelationDef] = field(default_factory=dict)
    edges: list[JoinEdge] = field(default_factory=list)
    queries: dict[str, Query] = field(default_factory=dict)
    sinks: dict[str, SinkDef] = field(default_factory=dict)
    views: dict[str, ViewDef] = field(default_factory=dict)
    published: dict[str, StreamDef] = field(default_factory=dict)

    def copy(self) -> Declarations:
        """A copy that can be changed independently."""
        tables = dict(self.streams), dict(self.relations)
        queries, sinks, views = dict(self.queries), dict(self.sinks), dict(self.views)
        return Declarations(*tables, list(self.edges), queries, sinks, views, dict(self.published))

    def add_query(self, key: str, query: Query) -> StreamDef | None:
        """Add a query; the stream that it publishes."""
        self.queries[key] = query
        stream = publication(query)
        if stream is not None:
            self.published[stream.name] = stream
        return stream

    def remove_query(self, key: str) -> StreamDef | None:
        """Take out a query; the stream that it published."""
        stream = publication(self.queries.pop(key))
        if stream is not None:
            del self.published[stream.name]
        return stream

    @property
    def tables(self) -> Mapping[str, StreamDef | RelationDef]:
        """Streams and relations by name."""
        return {**self.streams, **self.relations}

    @property
    def paths(self) -> list[str]:
        """The source paths of all streams and relations."""
        sources = [table.source for table in self.tables.values() if table.source is not None]
        return [source.path for source in sources if source.reader is None]


@dataclass(frozen=True)
class Script:
    """A parsed script: all declarations, the positions of the queries that it creates, and those it drops.

    A known query that it replaces is both in `positions` and in `dropped`. The known streams that are
    `altered` have columns more, and are the same streams.
    """

    declarations: Declarations
    positions: dict[str, Position]
    dropped: dict[str, Query] = field(default_factory=dict)
    altered: frozenset[str] = frozenset()

    @property
    def queries(self) -> Iterator[tuple[Query, Position]]:
        """The queries that this script creates and does not drop, in order."""
        for key, position in self.positions.items():
            yield self.declarations.queries[key], position
