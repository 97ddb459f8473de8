"""Operators that stand from the beginning, with all of them running or those alone that are in demand.

Cites: SKWS 4.1
"""

from __future__ import annotations

import numpy as np

from benchmarks.keyword_meshes.demand_flags import DemandFlags
from benchmarks.keyword_meshes.operator_rows import OperatorLookup, OperatorRows
from seine.algebra.arrays import BoolArray, IntArray
from seine.keyword_networks.expanded_schema import ExpandedSchema


class OperatorMesh:
    """A fixed set of operators, all of which run."""

    def __init__(self, schema: ExpandedSchema, max_tuples: int, operators: OperatorRows) -> None:
        self.operators, self.max_tuples = operators, max_tuples
        self.lookup = OperatorLookup(schema, max_tuples, operators)
        self.meets: BoolArray = operators.positions_joined(max_tuples)
        leaves = np.flatnonzero(operators.left < 0)
        self._leaves = leaves[np.argsort(operators.node[leaves], kind="stable")]
        self._first_leaf = np.searchsorted(operators.node[self._leaves], np.arange(schema.nodes + 1))

    @property
    def count(self) -> int:
        """How many joins there are now."""
        return int((self.operators.left >= 0).sum())

    def source_rows(self, counts: IntArray) -> int:
        """How many rows sources hold, given the live tuples of each node: all joins read the same buffers."""
        return int(counts.sum())

    def leaves_of(self, nodes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """For each node the range of its leaves, and the leaves: where tuples of the node begin rows."""
        return self._first_leaf[nodes], self._first_leaf[nodes + 1], self._leaves

    def runs(self, numbers: IntArray) -> BoolArray:
        """Which of these joins run."""
        return np.ones(len(numbers), bool)

    def sources_filled(self, nodes: IntArray, step: int) -> None:
        """These sources were empty and have tuples."""

    def sources_dried(self, nodes: IntArray, step: int) -> IntArray:
        """These sources have run empty; returns the joins that go to sleep."""
        return nodes[:0]

    def awoken(self, size: int) -> IntArray:
        """The joins that have woken in this step, missed something, and take left rows of this size."""
        return self.operators.left[:0]

    def missed_from(self, numbers: IntArray) -> IntArray:
        """The last step of which these joins have done everything."""
        return np.zeros(len(numbers), np.int64)

    def grow(self, size: int, present: IntArray) -> None:
        """These operators have output of a size."""

    def shrink(self, size: int, present: IntArray) -> BoolArray | None:
        """These operators still have output of a size; returns a mask of operators that are gone."""
        return None


class OperatorForest(OperatorMesh):
    """Operator trees that share nothing: each has its own sources.

    Differs: the tuples of a node are counted for each source that has them, but lie in one buffer.
    """

    def source_rows(self, counts: IntArray) -> int:
        return int(counts[self.operators.node].sum())


class DemandDrivenMesh(OperatorMesh):
    """A fixed set of operators of which those run that have right input and somebody to consume their output.

    Law: the same results as if all ran. A result needs a live tuple in each of its sources; so when its last
    tuple arrives all joins on its way run, and those that wake catch up before.
    """

    def __init__(self, schema: ExpandedSchema, max_tuples: int, operators: OperatorRows) -> None:
        super().__init__(schema, max_tuples, operators)
        self.flags = DemandFlags(operators, schema.nodes)
        self._awoken = operators.left[:0]

    def runs(self, numbers: IntArray) -> BoolArray:
        return self.flags.running[numbers]

    def sources_filled(self, nodes: IntArray, step: int) -> None:
        started = self.flags.fill(nodes)
        self._awoken = started[self.flags.stopped_at[started] < step - 1]

    def sources_dried(self, nodes: IntArray, step: int) -> IntArray:
        return self.flags.dry(nodes, step)

    def awoken(self, size: int) -> IntArray:
        mine: IntArray = self._awoken[self.operators.size[self._awoken] == size + 1]
        return mine

    def missed_from(self, numbers: IntArray) -> IntArray:
        return self.flags.stopped_at[numbers]
