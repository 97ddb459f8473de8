"""The node of the final rows of semi and anti joins (`emit = 'final'`).

    SELECT * FROM ad ANTI JOIN click ON click.adid = ad.adid          WITH (emit = 'final')

Its operator is `final_partners.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.plan import SetKind
from seine.graph.node_words import NodeWords
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.group.final_partners import FinalPartnersOperator
from seine.operators.step.working_nodes import HostFlow, StatefulNode


@dataclass(frozen=True)
class FinalPartnersNode(SetOperatorNode, StatefulNode):
    """Rows of the first input, each once: at the first pair that it is in, or as it was in none."""

    kind = "final_partners"
    reason = "same final rows"
    tint = "#c2458f"
    rule: str = SetKind.ANTI.value
    closes: int | None = None  # a column with the time after which a row is in no new pair

    def make_operator(self, flow: HostFlow) -> FinalPartnersOperator:
        return FinalPartnersOperator(self)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)

    @property
    def operation(self) -> tuple[str, int | None]:
        return (f"final {self.rule}", self.closes)

    def describe(self, words: NodeWords) -> str:
        if self.rule == SetKind.SEMI.value:
            return "rows of the first input, once each, when they are first in a pair of the second"
        return "rows of the first input that were in no pair of the second, once each"
