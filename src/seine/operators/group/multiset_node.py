"""The node of set operations on bags, and of semi and anti joins.

    SELECT a FROM s INTERSECT SELECT b FROM t         SELECT * FROM s WHERE EXISTS (SELECT 1 FROM t WHERE ...)

Its operator is `multiset.py`.

Set operations on bags: EXCEPT ALL, INTERSECT [ALL], and semi and anti joins over the pairs of a join.

Law: at every instant the output has each row f(m, n) times, where m and n are how often it is alive in the
first and in the second input.

    SELECT a FROM s INTERSECT ALL SELECT b FROM t               f = min(m, n)
    SELECT a FROM s ANTI JOIN t ON s.k = t.k                    f = m if n = 0, else 0

    rows ──> events ──(progress)──> counts (m, n) by all columns ──> f ──> copies that begin and end
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seine.algebra.arrays import IntArray
from seine.algebra.plan import SetKind
from seine.graph.node_words import NodeWords
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.group.copies import Copies
from seine.operators.group.except_ import ExceptOperator
from seine.operators.group.group_release import Releases
from seine.operators.step.working_nodes import HostFlow, StatefulNode

if TYPE_CHECKING:
    from seine.operators.group.distinct_node import DistinctNode
    from seine.operators.group.except_node import ExceptNode


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


Multiplicity = Callable[[IntArray, IntArray], IntArray]

MULTIPLICITIES: dict[SetKind, Multiplicity] = {
    SetKind.EXCEPT_ALL: lambda m, n: np.maximum(m - n, 0),
    SetKind.INTERSECT: lambda m, n: ((m > 0) & (n > 0)).astype(np.int64),
    SetKind.INTERSECT_ALL: np.minimum,
    SetKind.SEMI: lambda m, n: np.where(n > 0, m, 0),
    SetKind.ANTI: lambda m, n: np.where(n == 0, m, 0),
}


class MultisetOperator(ExceptOperator):
    """Each row as often as the node's rule makes of its counts in both inputs."""

    def __init__(self, node: MultisetNode, buckets: int = 1) -> None:
        self._multiplicity = MULTIPLICITIES[SetKind(node.rule)]
        super().__init__(node, buckets)

    def _rows_by_value(self, node: DistinctNode | ExceptNode | MultisetNode) -> Copies:
        return Copies([type_.arrow() for type_ in node.types], self._multiplicity)
