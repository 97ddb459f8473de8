"""The base class of set operator nodes: they read whole rows, by fans."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from seine.algebra.expressions import Expression
from seine.graph.node import Node, NodesView, Signature
from seine.graph.node_words import ColumnWords, RowPart
from seine.operators.match.fan_step import FanNode


@dataclass(frozen=True)
class SetOperatorNode(Node):
    """A pipeline breaker of whole rows: its columns are those of its inputs, tag first."""

    pile_level = 2

    @property
    @abstractmethod
    def row_inputs(self) -> int:
        """How many of its ports bring rows; the others, behind them, bring punctuations."""

    @property
    def partition_keys(self) -> tuple[frozenset[Expression], ...]:
        return tuple(frozenset((key,)) for key in self.ports[0].key)

    @property
    def passed_columns(self) -> Sequence[int]:
        return self.ports[0].key_columns

    @property
    def operation(self) -> Hashable:
        """What it does to its rows, where nodes of one kind differ in that."""
        return self.kind

    def signature(self, standing: NodesView) -> Signature:
        return breaker_signature(self, [standing.nodes[i] for i in self.inputs[: self.row_inputs]])

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        below = words.row_parts(self.inputs[0])[0]
        return (RowPart(f"rows #{self.id}", below.names, below.tagged),)


def breaker_signature(node: SetOperatorNode, inputs: Sequence[Node]) -> Signature:
    """A set operator with the fans that feed it."""
    keys = tuple(port.key for port in node.ports[: len(inputs)])
    return (node.operation, keys, tuple(map(_feeding, inputs)), node.owner)


def _feeding(node: Node) -> Hashable:
    if not isinstance(node, FanNode):
        return node.id
    return (node.inputs, node.filter.shape, node.filter.checks, node.expressions, node.tagged)
