"""Derived punctuations: what a join can punctuate of its own output, from punctuations of an input.

    bid punctuated: itemid 7 ──> the join holds no more bids of item 7 ──> its output punctuated: itemid 7

Law: a punctuation of an input's values is one of the output's, once the join holds no row of that input with
these values: then no combination to come has them. The join works it out, beside the rows that it holds.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from seine.graph.node import Node
from seine.graph.node_words import ColumnWords, NodeWords, RowPart
from seine.graph.standing_nodes import NodesView, Signature
from seine.operators.step.working_nodes import HostFlow
from seine.operators.stream.punctuations_node import PunctuationsNode


@dataclass(frozen=True)
class DerivedPunctuationsNode(Node):
    """Punctuations of a join's output: an input has punctuated values, and no row is held with them.

    The first port is the join, the second brings punctuations of its input `side`; they have the values of
    `columns` of that input's rows. The join works on them, where its own rows are; so no reader may come to
    listen when it has run. A row has these values and, behind them, the number of the bucket that sends it: a
    punctuation that went to every bucket is sent by each. One that `gathers` has come like that itself.
    """

    kind = "derived"
    reason = "same punctuations of the same join"
    is_punctuation = True
    side: int
    columns: tuple[int, ...]
    gathers: bool = False

    @property
    def by_all(self) -> bool:
        """Whether every bucket of the join sends each punctuation."""
        return self.ports[1].broadcast

    @property
    def work_at(self) -> int:
        return self.inputs[0]

    @property
    def receiving(self) -> Sequence[int]:
        return (1,)

    def signature(self, standing: NodesView) -> Signature:
        return derived_signature(self.inputs, self.side, self.columns)

    def describe(self, words: NodeWords) -> str:
        return f"punctuations that #{self.inputs[0]} derives from {words.describe(self._origin(words))}"

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        return (RowPart(f"punctuations of #{self.inputs[0]}", self._origin(words).column_names(words)),)

    def _origin(self, words: ColumnWords) -> PunctuationsNode:
        """The punctuations of a stream from which these follow."""
        below = words.nodes[self.inputs[1]]
        assert isinstance(below, DerivedPunctuationsNode | PunctuationsNode)
        return below._origin(words) if isinstance(below, DerivedPunctuationsNode) else below


def derived_signature(inputs: Sequence[int], side: int, columns: Hashable) -> Signature:
    return ("derived", tuple(inputs), side, columns)


def derived_punctuations_of(join: int, flow: HostFlow) -> list[DerivedPunctuationsNode]:
    """The derived punctuations of a join that are read."""
    return [node for node in flow.listeners(join) if isinstance(node, DerivedPunctuationsNode)]
