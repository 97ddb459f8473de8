"""The node of first results.

    CREATE QUERY q WITH (once = 'card', per = INTERVAL '1' HOUR) AS SELECT card, amount FROM payment WHERE ...

    ... ── fan [tag -> tag, 1 hour, card, amount] ── once, by tag and card ── deliver card, amount, followed

Queries that name the same columns of the same rows share it: of which period is in the rows. Its operator is
`once.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.graph.node_words import ColumnWords, NodeWords, RowPart
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.group.once import OnceOperator
from seine.operators.step.working_nodes import HostFlow, StatefulNode


@dataclass(frozen=True)
class OnceNode(SetOperatorNode, StatefulNode):
    """The first row of a key in each period, by tag, and how many followed."""

    kind = "once"
    reason = "first rows by the same columns"
    tint = "#e8590c"

    def make_operator(self, flow: HostFlow) -> OnceOperator:
        return OnceOperator(self)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        below = words.row_parts(self.inputs[0])[0]
        return (RowPart(f"rows #{self.id}", (*below.names, "followed"), below.tagged),)

    def describe(self, words: NodeWords) -> str:
        return "the first row of a key in each period, and how many followed"
