"""The node of the best trees of periods.

    SEARCH 'lisbon prize' TOP 3 PER INTERVAL '7' DAY

    search ── fan [tag -> tag, 3, 7 days] ── top of periods ── deliver

All such searches share it: how many trees, and of which period, is in the rows. Its operator is
`period_top.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.graph.node_words import NodeWords
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.search.period_top import PeriodTopOperator
from seine.operators.step.working_nodes import HostFlow, StatefulNode


@dataclass(frozen=True)
class PeriodTopNode(SetOperatorNode, StatefulNode):
    """The best trees of each period, by tag, when it is over."""

    kind = "period_top"
    reason = "same best trees"
    tint = "#9c36b5"

    def make_operator(self, flow: HostFlow) -> PeriodTopOperator:
        return PeriodTopOperator(self)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)

    def describe(self, words: NodeWords) -> str:
        return "the best trees of each period"
