"""TreeGen: the tree of a candidate network that an operator stands for, from its left inputs.

Cites: SKWS 4.2
"""

from __future__ import annotations

import numpy as np

from benchmarks.keyword_meshes.operator_rows import OperatorRows
from seine.algebra.arrays import IntArray
from seine.keyword_networks.expansion import NetworkTrees


def tree_gen(operators: OperatorRows, numbers: IntArray, size: int) -> NetworkTrees:
    """The trees of operators that have rows of one size.

    Law: TreeGen of the operator that was made for a tree is that tree. A mesh that grows as it runs keeps
    operators alone and reads from them which joins could stand above.
    """
    columns = np.full((3, len(numbers), size), -1)
    for position in range(size - 1, -1, -1):
        read = (operators.node, operators.at, operators.condition)
        for column, values in zip(columns, read, strict=True):
            column[:, position] = values[numbers]
        numbers = operators.left[numbers]
    nodes, parents, conditions = columns
    return NetworkTrees(nodes, parents, conditions)
