"""The node of settled rows: of rows that change, those that nothing will change any more, once.

    SELECT b.id, g.m FROM bid b JOIN (SELECT ts DIV 10 AS k, max(price) AS m FROM bid GROUP BY ts DIV 10) g
      ON b.ts DIV 10 = g.k AND b.price = g.m                                         WITH (emit = 'final')

Its operator is `settled.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.graph.node_words import NodeWords
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.group.settled import SettledOperator
from seine.operators.join.final_time import FinalTime
from seine.operators.step.working_nodes import HostFlow, StatefulNode


@dataclass(frozen=True)
class SettledNode(SetOperatorNode, StatefulNode):
    """Rows of joins and unions that can end no more.

    A row has a part of each of several items whose rows may end early; `rising` are of each the columns whose
    earlier values the watermark makes final. It is settled when every part is.
    """

    kind = "settled"
    reason = "same final rows"
    rising: tuple[tuple[FinalTime, ...], ...]

    def make_operator(self, flow: HostFlow) -> SettledOperator:
        return SettledOperator(self)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)

    def describe(self, words: NodeWords) -> str:
        return "the rows that nothing will change, once"
