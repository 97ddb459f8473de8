"""The node of DISTINCT, and of UNION over several inputs.

    SELECT DISTINCT a, b FROM s            SELECT a FROM s UNION SELECT b FROM t

Its operator is `distinct.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.graph.node_words import NodeWords
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.group.distinct import DistinctOperator
from seine.operators.group.group_release import Releases
from seine.operators.step.working_nodes import HostFlow, StatefulNode


@dataclass(frozen=True)
class DistinctNode(SetOperatorNode, StatefulNode):
    """The distinct rows of all its inputs together (DISTINCT; UNION with several ports)."""

    kind = "distinct"
    reason = "same distinct rows"
    tint = "#c2458f"
    releases: Releases | None = None

    def make_operator(self, flow: HostFlow) -> DistinctOperator:
        return DistinctOperator(self, flow.buckets)

    @property
    def row_inputs(self) -> int:
        return len(self.ports) - (len(self.releases.purges) if self.releases else 0)

    def describe(self, words: NodeWords) -> str:
        return "distinct rows"
