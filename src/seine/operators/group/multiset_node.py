"""The node of set operations on bags, and of semi and anti joins.

    SELECT a FROM s INTERSECT SELECT b FROM t         SELECT * FROM s WHERE EXISTS (SELECT 1 FROM t WHERE ...)

Its operator is `multiset.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.plan import SetKind
from seine.graph.node_words import NodeWords
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.group.multiset import MultisetOperator
from seine.operators.group.release_rules import Releases
from seine.operators.step.working_nodes import HostFlow, StatefulNode

_WORDS = {
    SetKind.EXCEPT_ALL: "rows of the first input, one less for each equal row of the second",
    SetKind.INTERSECT: "rows that both inputs have, each once",
    SetKind.INTERSECT_ALL: "rows that both inputs have, as often as both have them",
    SetKind.SEMI: "rows of the first input that are in a pair of the second",
    SetKind.ANTI: "rows of the first input that are in no pair of the second",
}


@dataclass(frozen=True)
class MultisetNode(SetOperatorNode, StatefulNode):
    """Rows of the first input, each as often as its rule makes of its counts in both inputs."""

    kind = "multiset"
    reason = "same set operation"
    tint = "#c2458f"
    rule: str = SetKind.ANTI.value
    releases: Releases | None = None

    def make_operator(self, flow: HostFlow) -> MultisetOperator:
        return MultisetOperator(self, flow.buckets)

    @property
    def row_inputs(self) -> int:
        return len(self.ports) - (len(self.releases.purges) if self.releases else 0)

    @property
    def operation(self) -> str:
        return self.rule

    def describe(self, words: NodeWords) -> str:
        return _WORDS[SetKind(self.rule)]
