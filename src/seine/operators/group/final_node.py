"""The node of final results of groups, once each (`emit = 'final'`).

    SELECT itemid, max(price) FROM bid GROUP BY itemid          WITH (emit = 'final')

Its operator is `final.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seine.algebra.expressions import Expression
from seine.graph.node_words import ColumnWords, NodeWords, RowPart
from seine.graph.standing_nodes import NodesView, Signature
from seine.operators.group.final import FinalOperator
from seine.operators.join.final_time import FinalTime
from seine.operators.join.purge_rule import PurgeRule
from seine.operators.step.working_nodes import HostFlow, StatefulNode


@dataclass(frozen=True)
class FinalNode(StatefulNode):
    """Of each group its final result, once: the rows of an aggregate or DISTINCT that nothing will change.

    `group` are the columns that tell groups apart; the first port's key are those that streams punctuate. The
    others bring punctuations: `side` of a purge tells who makes them, and a group is final when all of
    `punctuators` have. `arrival` is the column with the latest start of its tuples, None where none expires.
    One that `retracts` is above rows that change: a group whose row ends is no result, for all its rows have
    been taken back. `as_input`: it is not delivered, but read by joins and groups of a final result.
    """

    kind = "final"
    reason = "same final results"
    group: tuple[int, ...]
    purges: tuple[PurgeRule, ...]
    punctuators: int
    clocks: tuple[FinalTime, ...]
    arrival: int | None
    paned: bool = False  # its rows begin with panes; they are told as of `arrival`
    retracts: bool = False
    as_input: bool = False

    def make_operator(self, flow: HostFlow) -> FinalOperator:
        return FinalOperator(self, flow.buckets)

    @property
    def partition_keys(self) -> tuple[frozenset[Expression], ...]:
        return tuple(frozenset((key,)) for key in self.ports[0].key)

    @property
    def passed_columns(self) -> Sequence[int]:
        return range(len(self.types))

    def signature(self, standing: NodesView) -> Signature:
        begins = (self.arrival, self.as_input)
        return (self.kind, self.inputs, self.group, self.purges, self.clocks, *begins, self.owner)

    def describe(self, words: NodeWords) -> str:
        return "the final result of each group, once"

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        below = words.row_parts(self.inputs[0])[0]
        return (RowPart(f"rows #{self.id}", below.names, below.tagged),)
