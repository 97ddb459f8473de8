"""Random XSCL queries over a document schema, as MMQJP draws them.

A query has k value joins, k by Zipf's law from 1 to the most. Its left block binds k different leaves, its
right block k others, each drawn evenly, and the i-th left leaf is joined with the i-th right one.

Cites: MMQJP 6.1 (Figure 17, Table 5)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.template_engines.template_relation import TemplateRelations
from benchmarks.workloads.document_schemas import DocumentSchema
from seine.algebra.arrays import IntArray
from seine.document_templates.query_template import JoinGraph

DEFAULT_QUERIES, DEFAULT_LEAVES, DEFAULT_ZIPF = 1_000, 6, 0.8  # Table 5


@dataclass(frozen=True)
class DrawnQueries:
    """Queries by their number of joins k: a row has k codes (left leaf * leaves + right leaf)."""

    schema: DocumentSchema
    joins: tuple[IntArray, ...]

    def distinct(self) -> Iterator[tuple[JoinGraph, IntArray]]:
        """Each distinct query, and the numbers of the queries that are equal to it."""
        first = 0
        for edges in self.joins:
            numbers = np.arange(first, first + len(edges))
            first += len(edges)
            if len(edges):
                yield from self._distinct(np.sort(edges, axis=1), numbers)

    def _distinct(self, edges: IntArray, numbers: IntArray) -> Iterator[tuple[JoinGraph, IntArray]]:
        kinds, kind_of = np.unique(edges, axis=0, return_inverse=True)
        order = np.argsort(kind_of.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(kind_of.ravel(), minlength=len(kinds)))
        for kind, equal in zip(kinds, np.split(numbers[order], ends[:-1]), strict=True):
            yield self._graph([divmod(edge, len(self.schema.leaves)) for edge in kind.tolist()]), equal

    def _graph(self, joins: list[tuple[int, int]]) -> JoinGraph:
        leaves = self.schema.leaves
        left, right = (self.schema.tree_over(tuple(leaves[pair[side]] for pair in joins)) for side in (0, 1))
        names = self.schema.names
        places = tuple(
            (left.names.index(names[leaves[a]]), right.names.index(names[leaves[b]])) for a, b in joins
        )
        return JoinGraph(left, right, places)

    def relations(self, window: int | None) -> TemplateRelations:
        """All queries by template."""
        relations = TemplateRelations()
        for graph, numbers in self.distinct():
            relations.add_equal(numbers.tolist(), graph, window)
        return relations


def draw_queries(
    seed: int, schema: DocumentSchema, count: int, most_joins: int, zipf: float = DEFAULT_ZIPF
) -> DrawnQueries:
    """So many random queries with at most so many value joins.

    >>> from benchmarks.workloads.document_schemas import two_levels
    >>> drawn = draw_queries(1, two_levels(6), 1000, 6)
    >>> [len(edges) for edges in drawn.joins], len(drawn.relations(None).compiled())
    ([355, 204, 128, 119, 100, 94], 6)
    """
    draw = np.random.default_rng(seed)
    weights = 1 / np.arange(1, most_joins + 1) ** zipf
    sizes = draw.choice(most_joins, count, p=weights / weights.sum()) + 1
    leaves = len(schema.leaves)
    joins = []
    for size in range(1, most_joins + 1):
        rows = int((sizes == size).sum())
        left, right = (np.argsort(draw.random((rows, leaves)), axis=1)[:, :size] for _ in range(2))
        joins.append(left * leaves + right)
    return DrawnQueries(schema, tuple(joins))
