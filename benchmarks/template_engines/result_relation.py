"""R_outT: the results of one template, in arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.template_engines.partial_bindings import PartialBindings
from benchmarks.template_engines.template_relation import TemplateRelation
from seine.algebra.arrays import IntArray


@dataclass(frozen=True)
class ResultRelation:
    """Results: a row of R_T, two documents, and a column of nodes for each metavariable."""

    relation: TemplateRelation
    row: IntArray
    left: IntArray
    right: IntArray
    nodes: tuple[IntArray, ...]

    @classmethod
    def of(cls, relation: TemplateRelation, bindings: PartialBindings) -> ResultRelation:
        """The results that complete bindings are."""
        nodes = tuple(bindings.nodes[node] for node in range(relation.template.nodes))
        return cls(relation, bindings.row, bindings.left, bindings.right, nodes)

    def __len__(self) -> int:
        return len(self.row)

    @property
    def records(self) -> int:
        """How many results there are if each query of a row counts."""
        return int(self.relation.weights[self.row].sum())

    def tuples(self) -> Iterator[tuple[int, int, int, tuple[int, ...]]]:
        """Each result of each query: query, left document, right document, nodes."""
        relation = self.relation
        for place, row in enumerate(self.row.tolist()):
            nodes = tuple(int(column[place]) for column in self.nodes)
            for query in relation.queries[relation.offsets[row] : relation.offsets[row + 1]].tolist():
                yield query, int(self.left[place]), int(self.right[place]), nodes
