"""Partial combinations of a chain of joins as operands of its next join.

    a JOIN{x = y, 5} b JOIN{y = z, 9} c        (a JOIN b) is a hidden publication that carries its variables

    complete ── partial (x, y of a with b) ──┐
                                             document join ── complete ── deliver
    source ──── witness ─────────────────────┘

Law: a result with the tag of a row of the table, within the row's bounds of time, has a witness (number of
the row, hash of the string of the row's variable). Without state.

Differs: MMQJP says of several operators only that it "can be extended" (3).
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.graph.node_words import ColumnWords, NodeWords, RowPart
from seine.graph.standing_nodes import NodesView, Signature
from seine.operators.documents.partial_step import PartialStep
from seine.operators.step.working_nodes import HostFlow, StatelessNode


@dataclass(frozen=True)
class PartialNode(StatelessNode):
    """Combinations on their way to a further join; a row of `variables` is (tag, low, high, variable)."""

    kind = "partial"
    reason = "same combinations of documents"
    tint = "#2f7ed8"
    variables: int

    def make_step(self, port: int, flow: HostFlow) -> PartialStep:
        return PartialStep(self, flow.tables[self.variables])

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.variables,)

    def signature(self, standing: NodesView) -> Signature:
        return partial_signature(self.inputs[0], self.owner)

    def describe(self, words: NodeWords) -> str:
        return "combinations that are joined further"

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        names = ("combination", "identity", "arrival", "latest", "patterns", "values")
        return (RowPart(f"#{self.id}", names),)


def partial_signature(results: int, owner: str) -> Signature:
    return ("partial", results, owner)
