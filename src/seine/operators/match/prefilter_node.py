"""A selection in front of one input of a join: predicate pushdown for all queries of the join together.

    SELECT ... FROM a JOIN b ON a.k = b.k WHERE a.v > 5      prefilter "a.v > ?" ── join
    SELECT ... FROM a JOIN b ON a.k = b.k WHERE a.v > 7

Law: a row passes if any row of its parameter tables holds for it. Without state.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.graph.node import Filter, FilteringNode, NodesView, Signature
from seine.graph.node_words import ColumnWords, NodeWords, RowPart
from seine.operators.match.prefilter_step import PrefilterStep
from seine.operators.step.working_nodes import HostFlow, StatelessNode


@dataclass(frozen=True)
class PrefilterNode(FilteringNode, StatelessNode):
    """In front of one join: keeps out what no query can use there."""

    kind = "prefilter"
    reason = "same input of the same join"
    drawn_with_reader = True
    is_metered = False

    def make_step(self, port: int, flow: HostFlow) -> PrefilterStep:
        return PrefilterStep(self, flow.tables)

    @property
    def input_filters(self) -> tuple[Filter, ...]:
        return self.filters

    def signature(self, standing: NodesView) -> Signature | None:
        return None

    def describe(self, words: NodeWords) -> str:
        return words.legend(self.id)

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        return words.row_parts(self.inputs[0])
