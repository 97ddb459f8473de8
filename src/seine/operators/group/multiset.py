"""Set operations on bags: EXCEPT ALL, INTERSECT [ALL], and semi and anti joins over the pairs of a join.

Law: at every instant the output has each row f(m, n) times, where m and n are how often it is alive in the
first and in the second input.

    SELECT a FROM s INTERSECT ALL SELECT b FROM t               f = min(m, n)
    SELECT a FROM s ANTI JOIN t ON s.k = t.k                    f = m if n = 0, else 0

    rows ──> events ──(progress)──> counts (m, n) by all columns ──> f ──> copies that begin and end
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from seine.algebra.arrays import IntArray
from seine.algebra.plan import SetKind
from seine.operators.group.copies import Copies
from seine.operators.group.except_ import ExceptOperator

if TYPE_CHECKING:
    from seine.operators.group.distinct_node import DistinctNode
    from seine.operators.group.except_node import ExceptNode
    from seine.operators.group.multiset_node import MultisetNode

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
