"""Resolves the deletions of a retractable stream: the node of `resolve.py`.

Whoever reads a retractable stream reads this node above its source.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.plan_text import column_name
from seine.graph.node_words import ColumnWords, NodeWords, RowPart
from seine.graph.standing_nodes import NodesView, Signature
from seine.operators.step.working_nodes import HostFlow, StatefulNode
from seine.operators.stream.resolve import ResolveOperator


@dataclass(frozen=True)
class ResolveNode(StatefulNode):
    """Finds for each negative tuple of a retractable stream the tuple that it deletes.

    Its one identity column is the arrival number of the tuple. `window` is the stream's; tuples
    that agree in the columns of the port's key are alike.
    """

    kind = "resolve"
    reason = "same deletions"
    tint = "#5c7cfa"
    is_metered = False  # it emits every tuple once, and its deletion
    stream: str
    window: int | None

    def make_operator(self, flow: HostFlow) -> ResolveOperator:
        return ResolveOperator(self)

    def signature(self, standing: NodesView) -> Signature:
        shared = (self.kind, self.stream)
        return (*shared, self.owner) if self.owner else shared

    def describe(self, words: NodeWords) -> str:
        return f"finds what deletions in {column_name(self.stream)} delete"

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        return (words.stream_part(self.stream, len(self.types)),)
