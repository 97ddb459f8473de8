"""The node of outer, semi and anti joins with a relation, which is looked up by key.

    SELECT ... FROM transactions t LEFT JOIN customers c ON t.customer = c.id

Its step is `partner_lookup.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.expressions import Expression
from seine.algebra.plan import LookupKind
from seine.algebra.types import Type
from seine.graph.node_words import ColumnWords, NodeWords, RowPart
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.group.partner_lookup import PartnerLookupStep
from seine.operators.step.working_nodes import HostFlow, StatelessNode

_WORDS = {
    LookupKind.LEFT: "pairs, and with NULLs the rows that are in none",
    LookupKind.SEMI: "rows that are in a pair",
    LookupKind.ANTI: "rows that are in no pair",
}


@dataclass(frozen=True)
class PartnerLookupNode(SetOperatorNode, StatelessNode):
    """Rows that are asked for partners in a relation; `predicate` is over the row followed by the tuple.

    `relation_key` are expressions over the relation's columns, one for each of `row_key`: the equalities of
    the predicate.
    """

    kind = "partner_lookup"
    reason = "same lookup"
    tint = "#0c9aa8"
    relation: str
    relation_types: tuple[Type, ...]
    row_key: tuple[Expression, ...]
    relation_key: tuple[Expression, ...]
    predicate: Expression
    rule: str

    def make_step(self, port: int, flow: HostFlow) -> PartnerLookupStep:
        return PartnerLookupStep(self, flow.relations.index(self.relation, self.relation_key))

    @property
    def row_inputs(self) -> int:
        return len(self.ports)

    @property
    def operation(self) -> str:
        return f"{self.rule} {self.relation} {self.predicate}"

    def describe(self, words: NodeWords) -> str:
        return f"{_WORDS[LookupKind(self.rule)]}, with tuples of {self.relation}"

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        parts = super().row_parts(words)
        if self.rule != LookupKind.LEFT.value:
            return parts
        return (*parts, words.relation_part(self.relation, len(self.relation_types)))
