"""The node of the best trees that are alive.

    SEARCH 'lisbon prize' TOP 3

    search ── fan [tag -> tag, 3] ── top of those alive ── deliver (a changelog)

All such searches share it. Its operator is `alive_top.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.graph.node_words import NodeWords
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.search.alive_top import AliveTopOperator
from seine.operators.step.working_nodes import HostFlow, StatefulNode


@dataclass(frozen=True)
class AliveTopNode(SetOperatorNode, StatefulNode):
    """The best of the trees alive at each instant, by tag, as they come and go."""

    kind = "alive_top"
    reason = "same best trees"
    tint = "#9c36b5"

    def make_operator(self, flow: HostFlow) -> AliveTopOperator:
        return AliveTopOperator(self)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)

    def describe(self, words: NodeWords) -> str:
        return "the best trees that are alive"
