"""The candidate networks of a SEARCH: its tables and conditions as a streaming schema, its terms as keywords.

Cites: SKWS 3.2
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from seine.algebra.definitions import JoinEdge, RelationDef, StreamDef
from seine.algebra.search_plan import SchemaGraph, Search, Term
from seine.algebra.types import STRING
from seine.keyword_networks.candidate_networks import CandidateNetwork, candidate_networks
from seine.keyword_networks.expanded_schema import ExpandedSchema, StreamingSchema

MOST_TERMS_FOR_NETWORKS = 6  # the expanded schema has 2^terms nodes for each table
_MOST_TREES_GROWN = 200_000  # partial networks of one size: of a wide schema there are exponentially many


@dataclass(frozen=True)
class SearchNetworks:
    """A search as the paper sees it: expanded schema, words by bit, and the text of each condition."""

    schema: ExpandedSchema
    words: tuple[str, ...]
    conditions: tuple[str, ...]
    max_tuples: int
    streams: int  # tables before this number are streams, the others relations

    @classmethod
    def of(cls, plan: Search) -> SearchNetworks:
        """The schema of a search; a table holds only terms that one of its STRING columns can have."""
        tables = list(plan.graph.tables.values())
        numbers = {table.name: number for number, table in enumerate(tables)}
        conditions = tuple((numbers[edge.left], numbers[edge.right]) for edge in plan.edges)
        streaming = StreamingSchema(tuple(numbers), conditions)
        held = [_may_hold(table, plan.terms) for table in tables]
        return cls(
            ExpandedSchema(streaming, len(plan.terms), may_hold=held),
            tuple(term.text for term in plan.terms),
            tuple(_text(plan.graph, edge) for edge in plan.edges),
            plan.max_tuples,
            len(plan.streams),
        )

    def networks(self) -> Iterator[CandidateNetwork]:
        """All networks with a stream, the smaller ones first: a tree of relations alone is never reported.

        Refuses those of a schema in which too many partial networks would have to be grown.
        """
        for network in candidate_networks(self.schema, self.max_tuples, _MOST_TREES_GROWN):
            if any(self.schema.stream_of[node] < self.streams for node in network.nodes):
                yield network

    def text(self, network: CandidateNetwork) -> str:
        """A network on one line; a condition is written where two tables have more than one."""
        pairs = [frozenset(ends) for ends in self.schema.schema.conditions]
        counts = Counter(pairs)
        several = {i: self.conditions[i] for i, pair in enumerate(pairs) if counts[pair] > 1}
        return network.text(self.schema, self.words, several)


def _may_hold(table: StreamDef | RelationDef, terms: Sequence[Term]) -> int:
    columns = {field.name for field in table.fields if field.type == STRING}

    def fits(term: Term) -> bool:
        return any(one.column in columns if one.column else columns for one in term.alternatives)

    return sum(1 << bit for bit, term in enumerate(terms) if fits(term))


def _text(graph: SchemaGraph, edge: JoinEdge) -> str:
    sides = ((edge.left, edge.left_column), (edge.right, edge.right_column))
    return " = ".join(f"{table}.{graph.tables[table].fields[column].name}" for table, column in sides)
