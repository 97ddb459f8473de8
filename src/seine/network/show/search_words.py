"""The words of nodes of keyword searches, and what the window of a search costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from seine.algebra.plan_text import column_name
from seine.network.show.kind_words import BoxContent, KindWords, RowPart
from seine.operators.search.keyword_search import MOST_REPLICAS, SearchNode
from seine.operators.search.searches import DIVIDED_QUERIES, SearchRow, searched_part
from seine.operators.search.spot import SpotNode
from seine.operators.search.watch import WatchNode, sides_of
from seine.operators.search.watched_schema import WatchedEdge, WatchedSchema

if TYPE_CHECKING:
    from seine.network.show.labels import ColumnNames, Labels
    from seine.network.show.query_story import Story

_RECORD_NAMES = ("tag", "tuples", "edges", "matches")
_COLUMN_NAMES = ("table", "number", "epoch", "text", "terms", "places", "sides", "keys")


class WatchWords(KindWords[WatchNode]):
    def describe(self, node: WatchNode, words: Labels) -> str:
        joined = {end for edge in node.edges if edge.stands for end in (edge.left, edge.right)}
        tables = [*node.members, *(one for one in node.relations if one.name in joined)]
        names = ", ".join(column_name(table.name) for table in tables)
        return f"terms and joins of {names}"

    def row_parts(self, node: WatchNode, words: ColumnNames) -> tuple[RowPart, ...]:
        return (RowPart("tuple", _COLUMN_NAMES),)

    def details(self, node: WatchNode, words: Labels) -> list[str]:
        terms = len(words.tables[node.terms])
        edges = [self._edge_text(node, edge) for edge in node.edges if edge.stands]
        return [
            f"it looks for {terms:,} {'term' if terms == 1 else 'terms'}",
            *(f"joined by {e}" for e in edges),
        ]

    def story(self, node: WatchNode, query: Story) -> Iterator[str]:
        return iter(self.details(node, query.words))

    def _edge_text(self, node: WatchNode, edge: WatchedEdge) -> str:
        """An edge as it was declared; of a table that is gone, no more than its name."""
        names = {table.name: table.names for table in node.schema.tables}
        sides = ((edge.left, edge.left_column), (edge.right, edge.right_column))
        texts = [
            f"{column_name(table)}.{column_name(names[table][column])}"
            if table in names
            else column_name(table)
            for table, column in sides
        ]
        return " = ".join(texts)


class SpotWords(KindWords[SpotNode]):
    def describe(self, node: SpotNode, words: Labels) -> str:
        count = len(words.tables[node.searches])
        return f"single tuples for {count:,} {'search' if count == 1 else 'different searches'}"

    def row_parts(self, node: SpotNode, words: ColumnNames) -> tuple[RowPart, ...]:
        return (RowPart("tree", _RECORD_NAMES, tagged=True),)

    def story(self, node: SpotNode, query: Story) -> Iterator[str]:
        for row, _ in query.rows_of(node.searches, 1):
            yield f"it looks for {replace(SearchRow.of(row), max_tuples=1).words}"


class SearchWords(KindWords[SearchNode]):
    def describe(self, node: SearchNode, words: Labels) -> str:
        count = len(words.tables[node.searches])
        return f"trees of joined tuples for {count:,} {'search' if count == 1 else 'different searches'}"

    def row_parts(self, node: SearchNode, words: ColumnNames) -> tuple[RowPart, ...]:
        return (RowPart("tree", _RECORD_NAMES, tagged=True),)

    def details(self, node: SearchNode, words: Labels) -> list[str]:
        watch = words.nodes[node.inputs[0]]
        assert isinstance(watch, WatchNode)
        searched = searched_part(watch.schema, words.tables[node.searches])
        return [
            f"each of up to {MOST_REPLICAS} buckets holds a copy of the tuples alive; work is divided by "
            f"query, of the first {DIVIDED_QUERIES} by the tuple that comes last",
            *(f"a copy holds {price}" for price in prices(watch.schema, searched)),
        ]

    def story(self, node: SearchNode, query: Story) -> Iterator[str]:
        for row, _ in query.rows_of(node.searches, 1):
            yield f"it looks for {SearchRow.of(row).words}"
        yield from self.details(node, query.words)

    def box_lines(self, box: BoxContent) -> tuple[str, str]:
        return box.text, ""


TUPLE_BYTES = 70  # of a row of the window, besides its text; measured, as the next two
INDEX_BYTES = 83  # of a row of the index, besides the places that it carries
PLACE_BYTES = 20  # of a place that a row carries


def prices(schema: WatchedSchema, searched: WatchedSchema) -> Iterator[str]:
    """For each stream, what its tuples take; `searched` is the part of the schema that has trees."""
    standing = [edge for edge in searched.edges if edge.stands]
    for table in schema.members:
        places = len(sides_of(standing, table))
        if table not in searched.members:
            yield f"nothing of {column_name(table.name)}: trees are searched in other streams alone"
            continue
        if not places and not schema.may_change:
            yield f"nothing of {column_name(table.name)}: no join leads to it"
            continue
        joined = "no join" if not places else f"{places} {'join' if places == 1 else 'joins'}"
        taken = f"about {tuple_bytes(places)} bytes a tuple"
        yield f"{column_name(table.name)}: its JSON text and {taken} ({joined})"


def tuple_bytes(places: int) -> int:
    """What a held tuple with so many places takes, besides its text.

    >>> [tuple_bytes(places) for places in (0, 1, 2, 4)]
    [70, 173, 316, 722]
    """
    return TUPLE_BYTES + places * (INDEX_BYTES + PLACE_BYTES * places)
