"""The node of window functions with frames: each row with the values of the rows around it.

    SELECT *, AVG(price) OVER (PARTITION BY seller ORDER BY ts ROWS 10 PRECEDING) FROM sale

    sale ── fan (tag, columns) ── over by (tag, seller) ── deliver

Its operator is `over.py`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from seine.algebra.plan_text import SqlText, describe_order, describe_over
from seine.algebra.rank_plan import FrameReach, Ordering, OverFunction
from seine.graph.node_words import ColumnWords, NodeWords, RowPart
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.group.group_release import Releases
from seine.operators.rank.over import OverOperator
from seine.operators.step.working_nodes import HostFlow, StatefulNode


@dataclass(frozen=True)
class OverNode(SetOperatorNode, StatefulNode):
    """Columns of a row are its tag, its data, and the results of the functions.

    The port's key is the tag and the partition. `timed`: whether ties go by the start of rows; `reach`: how
    far frames look back, if values are fixed as soon as a row is there.
    """

    kind = "over"
    reason = "same frames"
    tint = "#c2458f"
    functions: tuple[OverFunction, ...]
    order: tuple[Ordering, ...]
    timed: bool
    reach: FrameReach | None = None
    releases: Releases | None = None

    @property
    def group_columns(self) -> tuple[int, ...]:
        return self.ports[0].key_columns

    def make_operator(self, flow: HostFlow) -> OverOperator:
        return OverOperator(self, flow.buckets)

    @property
    def row_inputs(self) -> int:
        return len(self.ports) - (len(self.releases.purges) if self.releases else 0)

    @property
    def operation(self) -> Hashable:
        return (self.kind, self.functions, self.order, self.timed, self.reach)

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        below = words.row_parts(self.inputs[0])[0]
        results = tuple(SqlText(describe_over(function, below.names)) for function in self.functions)
        return (RowPart(f"rows #{self.id}", (*below.names, *results), below.tagged),)

    def describe(self, words: NodeWords) -> str:
        names = words.row_parts(self.inputs[0])[0].names
        by = ", ".join(names[index] for part in self.ports[0].key[1:] for index in part.columns)
        calls = ", ".join(describe_over(function, names) for function in self.functions)
        order = describe_order(self.order, names)
        return " ".join(
            [calls, *([f"of each {by}"] if by else []), *([f"in order of {order}"] if order else [])]
        )
