"""The node of ranks: the first n rows of each partition, n being a column of the rows.

    SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rn FROM bid)
    WHERE rn <= 10

    bid ── fan [T: n -> tag, n, columns] ── rank by (tag, auction) ── deliver

How many are wanted is a constant of the fan: a thousand of them are rows of its table. Its operator is
`rank.py`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from seine.algebra.plan_text import SqlText, describe_order
from seine.algebra.rank_plan import Ordering
from seine.graph.node_words import ColumnWords, NodeWords, RowPart
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.group.release_rules import Releases
from seine.operators.rank.rank import RankOperator
from seine.operators.step.working_nodes import HostFlow, StatefulNode


@dataclass(frozen=True)
class RankNode(SetOperatorNode, StatefulNode):
    """Columns of a row are its tag, how many are wanted of its partition, its data, and perhaps its number.

    The port's key is the tag and the partition. `timed`: whether ties go by the start of rows; `lasting`:
    whether rows never end.
    """

    kind = "rank"
    reason = "same ranks"
    tint = "#c2458f"
    function: str
    order: tuple[Ordering, ...]
    with_number: bool
    timed: bool
    lasting: bool
    releases: Releases | None = None

    @property
    def group_columns(self) -> tuple[int, ...]:
        return (1, *self.ports[0].key_columns)  # how many are wanted is the same in all rows of a tag

    def make_operator(self, flow: HostFlow) -> RankOperator:
        return RankOperator(self, flow.buckets)

    @property
    def row_inputs(self) -> int:
        return len(self.ports) - (len(self.releases.purges) if self.releases else 0)

    @property
    def operation(self) -> Hashable:
        return (self.kind, self.function, self.order, self.with_number, self.timed, self.lasting)

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        below = words.row_parts(self.inputs[0])[0]
        number = (SqlText(f"{self.function.upper()}()"),) if self.with_number else ()
        return (RowPart(f"rows #{self.id}", (*below.names, *number), below.tagged),)

    def describe(self, words: NodeWords) -> str:
        names = words.row_parts(self.inputs[0])[0].names
        by = ", ".join(names[index] for part in self.ports[0].key[1:] for index in part.columns)
        order = describe_order(self.order, names)
        parts = [f"the first rows by {self.function.upper()}()", *([f"of each {by}"] if by else [])]
        return " ".join([*parts, *([f"in order of {order}"] if order else [])])
