"""The node of keyword searches: trees of joined tuples that contain all terms of a query.

    SEARCH 'tarantino travolta' MAX 4 TUPLES          a row of its table: terms 3 and 5, MAX 4, all tables

                         ┌─ bucket 0: window, places ── trees of its queries
    watch ── broadcast ──┼─ bucket 1: window, places ── trees of its queries ──── deliver
                         └─ ..

All searches of one time domain are rows of one node, whatever their terms, MAX and tables are. Its operator
is `keyword_search.py`. Every bucket holds the whole window, since a tree may connect tuples by any values; so
it lives in eight buckets at most. The work is divided: a query has a home bucket, and of the first queries
every bucket grows the trees of its part of the roots.

Cites: SKWS 4.1 (one plan for all networks of a query)
Differs: one operator for all networks of all queries; what the paper's operators are, values are here.

What a copy of the window of a search costs, in words: bytes for each tuple that lives, by stream.

    movie: its JSON text and about 320 bytes a tuple (2 joins)

A held tuple is a row of the window, with its text, and a row of the index for each of its places, which
carries all of them. Keys that are texts or decimals are kept besides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seine.algebra.plan_text import column_name
from seine.graph.node import NodesView, Signature
from seine.graph.node_words import BoxContent, ColumnWords, NodeWords, QueryWords, RowPart
from seine.operators.search.keyword_search import SearchOperator
from seine.operators.search.searches import DIVIDED_QUERIES, SearchRow, searched_part
from seine.operators.search.static_tuples import StaticTuples
from seine.operators.search.watch_node import WatchNode
from seine.operators.search.watch_step import sides_of
from seine.operators.search.watched_schema import WatchedSchema
from seine.operators.step.working_nodes import HostFlow, StatefulNode

MOST_REPLICAS = 8  # buckets of a search: each holds the whole window, so more would cost memory for ever less
RECORD_NAMES = ("tag", "tuples", "edges", "matches")


@dataclass(frozen=True)
class SearchNode(StatefulNode):
    """Trees of joined tuples, each with the tag of its query; `searches` is the table of queries.

    `schema` is another number whenever the tables and edges of the node beneath are others.
    """

    kind = "search"
    reason = "same search"
    passes = "trees"
    is_join = True
    is_metered = False  # what it emits is counted for each query
    tint = "#9c36b5"
    most_buckets = MOST_REPLICAS
    searches: int
    schema: int = 0

    def make_operator(self, flow: HostFlow) -> SearchOperator:
        watch = flow.nodes[self.inputs[0]]
        assert isinstance(watch, WatchNode)
        static = StaticTuples(watch.schema, flow.tables[watch.terms], flow.relations.tuples)
        replicas = min(flow.buckets, MOST_REPLICAS)
        return SearchOperator(self, watch.schema, flow.tables[self.searches], replicas, static)

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.searches,)

    def signature(self, standing: NodesView) -> Signature:
        return search_signature(self.inputs[0])

    def describe(self, words: NodeWords) -> str:
        count = len(words.tables[self.searches])
        return f"trees of joined tuples for {count:,} {'search' if count == 1 else 'different searches'}"

    def details(self, words: NodeWords) -> list[str]:
        watch = words.nodes[self.inputs[0]]
        assert isinstance(watch, WatchNode)
        searched = searched_part(watch.schema, words.tables[self.searches])
        return [
            f"each of up to {MOST_REPLICAS} buckets holds a copy of the tuples alive; work is divided by "
            f"query, of the first {DIVIDED_QUERIES} by the tuple that comes last",
            *(f"a copy holds {price}" for price in prices(watch.schema, searched)),
        ]

    def story(self, query: QueryWords) -> Iterator[str]:
        for row, _ in query.rows_of(self.searches, 1):
            yield f"it looks for {SearchRow.of(row).words}"
        yield from self.details(query.words)

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        return (RowPart("tree", RECORD_NAMES, tagged=True),)

    def box_lines(self, box: BoxContent) -> tuple[str, str]:
        return box.text, ""


def search_signature(watch: int) -> Signature:
    return ("search", watch)


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
