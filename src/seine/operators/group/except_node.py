"""The node of EXCEPT.

    SELECT a FROM s EXCEPT SELECT b FROM t

Its operator is `except_.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.graph.node_words import NodeWords
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.group.except_ import ExceptOperator
from seine.operators.group.group_release import Releases
from seine.operators.step.working_nodes import HostFlow, StatefulNode


@dataclass(frozen=True)
class ExceptNode(SetOperatorNode, StatefulNode):
    """The distinct rows that are alive in the first input and not in the second."""

    kind = "except"
    reason = "same difference"
    tint = "#c2458f"
    releases: Releases | None = None

    def make_operator(self, flow: HostFlow) -> ExceptOperator:
        return ExceptOperator(self, flow.buckets)

    @property
    def row_inputs(self) -> int:
        return len(self.ports) - (len(self.releases.purges) if self.releases else 0)

    def describe(self, words: NodeWords) -> str:
        return "rows of the first input that are not in the second"
