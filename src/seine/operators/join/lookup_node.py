"""A join of rows with a relation that is looked up by key (an index join; in Flink, a lookup join).

SELECT ... FROM transactions t JOIN customers c ON t.customer = c.id
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from seine.algebra.expressions import Expression
from seine.algebra.types import Type
from seine.graph.node import FilteringNode, NodesView, Signature
from seine.graph.node_words import BoxContent, ColumnWords, NodeWords, RowPart
from seine.operators.join.join_words import describe_equalities, sides_read, split_join_text
from seine.operators.join.lookup import LookupOperator, LookupStep
from seine.operators.match.filters import any_of
from seine.operators.step.working_nodes import HostFlow, StatelessNode


@dataclass(frozen=True)
class LookupNode(FilteringNode, StatelessNode):
    """Joins each row with the relation's tuples on equal keys.

    Filters and `out` address the row followed by the tuple.
    `relation_key` are expressions over the relation's columns, one for each of `row_key`.
    """

    kind = "lookup"
    reason = "same lookup"
    passes = "pairs"
    tint = "#0c9aa8"
    pile_level = 3
    relation: str
    relation_types: tuple[Type, ...]
    row_key: tuple[Expression, ...]
    relation_key: tuple[Expression, ...]

    def make_step(self, port: int, flow: HostFlow) -> LookupStep:
        return LookupStep(self.id, self.make_lookup(flow))

    def make_lookup(self, flow: HostFlow) -> LookupOperator:
        """What looks rows up."""
        index = flow.relations.index(self.relation, self.relation_key)
        return LookupOperator(self, any_of(self.filters, flow.tables), index)

    def signature(self, standing: NodesView) -> Signature:
        row = standing.beneath_prefilter(self, 0)
        return lookup_signature(row, self.relation, self.row_key, self.relation_key, self.owner)

    def describe(self, words: NodeWords) -> str:
        keys = (self.row_key, self.relation_key)
        return describe_equalities(self, keys, self._left_width, words)

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        relation = words.relation_part(self.relation, len(self.relation_types))
        return (*words.row_parts(self.inputs[0]), relation)

    def undecided(self, conjuncts: list[Expression]) -> list[Expression]:
        return [part for part in conjuncts if sides_read(part, self._left_width) >= 1] or conjuncts

    def first_column(self, port: int) -> int:
        return 0

    def box_lines(self, box: BoxContent) -> tuple[str, str]:
        legend, keys = split_join_text(box.text)
        return (legend, "") if box.is_pile else (keys, legend)

    @property
    def _left_width(self) -> int:
        return len(self.types) - len(self.relation_types)


def lookup_signature(row: int, relation: str, row_key: Hashable, key: Hashable, owner: str) -> Signature:
    return ("lookup", row, relation, row_key, key, owner)
