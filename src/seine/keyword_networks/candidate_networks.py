"""Candidate networks: every way in which the streams of a schema could connect the keywords of a query.

Those of a SEARCH take its tables and conditions as a streaming schema, its terms as keywords.

Cites: SKWS 2, SKWS 3.2
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seine.algebra.definitions import JoinEdge, RelationDef, StreamDef
from seine.algebra.search_plan import SchemaGraph, Search, Term
from seine.algebra.types import STRING
from seine.errors import SeineError
from seine.keyword_networks.expanded_schema import ExpandedSchema, StreamingSchema
from seine.keyword_networks.expansion import Additions, NetworkTrees, expand

MOST_TERMS_FOR_NETWORKS = 6  # the expanded schema has 2^terms nodes for each table
_MOST_TREES_GROWN = 200_000  # partial networks of one size: of a wide schema there are exponentially many


@dataclass(frozen=True)
class CandidateNetwork:
    """A tree of nodes of the expanded schema that is total and minimal; node 0 is where CNGen began.

    Edges are (position, position, condition), the nearer to node 0 first. Minimal: every leaf holds a keyword
    that no other node holds. So all leaves differ, and a tree of tuples fits a network in one way only.
    """

    nodes: tuple[int, ...]
    edges: tuple[tuple[int, int, int], ...]

    def text(
        self,
        schema: ExpandedSchema,
        words: Sequence[str] | None = None,
        conditions: Mapping[int, str] | None = None,
    ) -> str:
        """The network on one line: a chain where there is one child, else children in brackets.

        Conditions are written on the edges for which a text is given.

        >>> from seine.keyword_networks.expanded_schema import StreamingSchema
        >>> line = ExpandedSchema(StreamingSchema(("s", "t"), ((0, 1),)), keywords=2)
        >>> [network.text(line, ("red", "blue")) for network in candidate_networks(line, max_tuples=2)]
        ['s{red,blue}', 't{red,blue}', 's{red} - t{blue}', 't{red} - s{blue}']
        """

        labels = {number: f"-[{text}]-" for number, text in (conditions or {}).items()}

        def below(at: int) -> str:
            children = [(labels.get(number, "-"), below(to)) for by, to, number in self.edges if by == at]
            name = schema.name(self.nodes[at], words)
            if len(children) < 2:
                return " ".join([name, *(part for child in children for part in child)])
            return f"{name} ({', '.join(f'{edge} {text}' for edge, text in children)})"

        return below(0)


def roots(schema: ExpandedSchema) -> tuple[NetworkTrees, NetworkTrees]:
    """Trees of one node with k1: those that can grow, and those that hold all keywords already."""
    start = np.flatnonzero(schema.is_root())
    alone = schema.keywords_of[start] == schema.all_keywords
    return NetworkTrees.roots(start[~alone]), NetworkTrees.roots(start[alone])


def levels(schema: ExpandedSchema, max_tuples: int, most_trees: int | None = None) -> Iterator[Additions]:
    """CNGen from all roots at once, size by size; each piece's trees are numbered in their level.

    A level's trees that may grow, in the order of its pieces, are the trees of the next level. If these are
    more than `most_trees`, growth is given up with a refusal: few of very many may become networks.
    """
    trees, _ = roots(schema)
    while len(trees) and trees.size < max_tuples:
        if most_trees is not None and len(trees) > most_trees:
            reason = f"there are {len(trees):,} ways to begin with {trees.size} of {max_tuples} tuples"
            raise SeineError(f"too many candidate networks to try: {reason}", hint="ask for fewer tuples")
        growing = []
        for piece in expand(schema, trees, max_tuples):
            growing.append(piece.grown.rows(~piece.complete))
            yield piece
        trees = NetworkTrees.joined(growing)


def candidate_networks(
    schema: ExpandedSchema, max_tuples: int, most_trees: int | None = None
) -> Iterator[CandidateNetwork]:
    """All candidate networks of at most `max_tuples` nodes, each once, the smaller ones first.

    Law: they are the projections of all possible results (trees of tuples that are total and minimal) on the
    expanded schema. Networks that differ in conditions alone are different. `most_trees` as of `levels`.
    """
    yield from _read(roots(schema)[1])
    for piece in levels(schema, max_tuples, most_trees):
        yield from _read(piece.grown.rows(piece.complete))


def _read(trees: NetworkTrees) -> Iterator[CandidateNetwork]:
    columns = zip(trees.nodes.tolist(), trees.parents.tolist(), trees.conditions.tolist(), strict=True)
    for nodes, parents, conditions in columns:
        edges = ((parents[i], i, conditions[i]) for i in range(1, trees.size))
        yield CandidateNetwork(tuple(nodes), tuple(edges))


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
