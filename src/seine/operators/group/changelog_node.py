"""The node of a changelog of rows: every end of a row is a record, not only its beginning.

    row [5, 9)      + at 5, - at 9

Its operator is `changelog.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.graph.node_words import NodeWords
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.group.changelog import ChangelogOperator
from seine.operators.step.working_nodes import HostFlow, StatefulNode


@dataclass(frozen=True)
class ChangelogNode(SetOperatorNode, StatefulNode):
    """Turns the natural end of each row into an early end, emitted when it is reached."""

    kind = "changelog"
    reason = "same changelog"
    tint = "#a0713d"

    def make_operator(self, flow: HostFlow) -> ChangelogOperator:
        return ChangelogOperator(self)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)

    def describe(self, words: NodeWords) -> str:
        return "reports the end of every row"
