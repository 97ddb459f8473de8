"""The node in front of a keyword search: which terms does a tuple contain, and where can it be joined?

    SEARCH 'tarantino travolta'                a row of the term table for each term, claimed by its queries
    CREATE JOIN movie.did = director.did       an edge: a place of each tuple of movie and of director

    director ──┐
    movie ─────┼─ watch [terms] ─── tuples of all tables, in the one form of `tuple_columns.py`
    plays ─────┘

Law: every tuple goes on, also one without a term, for it may connect others. Without state.

Tables and edges come and go with the schema while the node stays: its ports are those of the tables that are
searched now, `gone` are others that dropped edges lead to (`watched_schema.py`).

Cites: SKWS 2 (schema graph), SKWS 3.1 (tuples that contain a keyword)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seine.algebra.plan_text import column_name
from seine.graph.node import NodesView, Signature
from seine.graph.node_words import ColumnWords, NodeWords, QueryWords, RowPart
from seine.operators.search.watch_step import WatchStep
from seine.operators.search.watched_schema import WatchedEdge, WatchedSchema, WatchedTable
from seine.operators.step.working_nodes import HostFlow, StatelessNode

_COLUMN_NAMES = ("table", "number", "epoch", "text", "terms", "places", "sides", "keys")


@dataclass(frozen=True)
class WatchNode(StatelessNode):
    """Tuples of all searched tables with their terms and places; one port for each table.

    `terms` and `scopes` are its parameter tables: the terms of queries, and the sets of tables they are over.
    """

    kind = "watch"
    reason = "same words table"
    numbered = True
    is_metered = False  # it emits every tuple once
    tint = "#9c36b5"
    domain: str
    members: tuple[WatchedTable, ...] = ()
    edges: tuple[WatchedEdge, ...] = ()
    terms: int = 0
    scopes: int = 0
    relations: tuple[WatchedTable, ...] = ()
    gone: tuple[WatchedTable, ...] = ()

    def make_step(self, port: int, flow: HostFlow) -> WatchStep:
        return WatchStep(self, port, flow.tables[self.terms])

    @property
    def schema(self) -> WatchedSchema:
        return WatchedSchema(self.members, self.edges, self.relations, self.gone)

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.terms, self.scopes)

    def signature(self, standing: NodesView) -> Signature:
        return watch_signature(self.domain, bool(self.identities), self.owner)

    def describe(self, words: NodeWords) -> str:
        joined = {end for edge in self.edges if edge.stands for end in (edge.left, edge.right)}
        tables = [*self.members, *(one for one in self.relations if one.name in joined)]
        names = ", ".join(column_name(table.name) for table in tables)
        return f"terms and joins of {names}"

    def details(self, words: NodeWords) -> list[str]:
        terms = len(words.tables[self.terms])
        edges = [self.edge_text(edge) for edge in self.edges if edge.stands]
        return [
            f"it looks for {terms:,} {'term' if terms == 1 else 'terms'}",
            *(f"joined by {e}" for e in edges),
        ]

    def story(self, query: QueryWords) -> Iterator[str]:
        return iter(self.details(query.words))

    def edge_text(self, edge: WatchedEdge) -> str:
        """An edge as it was declared; of a table that is gone, no more than its name."""
        names = {table.name: table.names for table in self.schema.tables}
        sides = ((edge.left, edge.left_column), (edge.right, edge.right_column))
        texts = [
            f"{column_name(table)}.{column_name(names[table][column])}"
            if table in names
            else column_name(table)
            for table, column in sides
        ]
        return " = ".join(texts)

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        return (RowPart("tuple", _COLUMN_NAMES),)


def watch_signature(domain: str, retracting: bool, owner: str) -> Signature:
    """Streams whose tuples may be deleted are searched apart, a stage later, and with those all others
    again.
    """
    return ("watch", domain, retracting, owner)
