"""A selection and projection in front of a pipeline breaker that tells the rows of different queries apart.

    SELECT count(*) FROM s WHERE v > 5 GROUP BY k            row (k=1, v=9) of s
    SELECT count(*) FROM s WHERE v > 7 GROUP BY k            fan ──> (tag 1, k=1), (tag 2, k=1)

Law: fan(rows) = {tag(i) + expressions(row, i) | row of the input, i row of the table, condition i holds}.
Without state.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.expressions import Expression
from seine.algebra.plan_text import SqlText
from seine.graph.node import SelectingNode
from seine.graph.node_words import ColumnWords, NodeWords, RowPart
from seine.graph.standing_nodes import NodesView, Signature
from seine.operators.match.fan_step import FanStep
from seine.operators.step.working_nodes import HostFlow, StatelessNode

_TAG = (SqlText("tag"),)


@dataclass(frozen=True)
class FanNode(SelectingNode, StatelessNode):
    """What satisfies a row of the table goes on, computed, with that row's tag in front.

    So queries that differ in constants share the pipeline breaker behind it, each with tags of its own. The
    expressions may have parameters too; the tag is the table's last column. An untagged fan has one row.
    """

    kind = "fan"
    reason = "same conditions, up to constants"
    drawn_with_reader = True
    expressions: tuple[Expression, ...]
    tagged: bool

    @property
    def computed(self) -> tuple[tuple[int, tuple[Expression, ...]], ...]:
        return (*super().computed, (self.filter.table, self.expressions))

    def make_step(self, port: int, flow: HostFlow) -> FanStep:
        return FanStep(self, flow.tables)

    def signature(self, standing: NodesView) -> Signature | None:
        return None

    def describe(self, words: NodeWords) -> str:
        names = words.row_parts(self.id)[0].names[self.tagged :]
        below = words.names(self.inputs[0])
        return words.select_list(self.expressions, names, below, self.filter.table)

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        below = words.names(self.inputs[0])
        texts = words.computed(self.expressions, below, self.filter.table)
        names = (*_TAG[: self.tagged], *words.short_names(texts))
        return (RowPart(f"#{self.id}", names, self.tagged),)
