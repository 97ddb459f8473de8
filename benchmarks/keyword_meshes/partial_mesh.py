"""The partial mesh: joins are made when their left input first has output, and destroyed when it has none.

Cites: SKWS 4.2
"""

from __future__ import annotations

import numpy as np

from benchmarks.keyword_meshes.full_mesh import joins_for
from benchmarks.keyword_meshes.operator_mesh import OperatorMesh
from benchmarks.keyword_meshes.operator_rows import OperatorRows
from benchmarks.keyword_meshes.tree_gen import tree_gen
from seine.algebra.arrays import BoolArray, IntArray
from seine.keyword_networks.candidate_networks import roots
from seine.keyword_networks.expanded_schema import ExpandedSchema
from seine.keyword_networks.expansion import expand

_FREE = -2  # in place of a left input: a row without an operator


class PartialMesh(OperatorMesh):
    """Sources at first; a join stands if and only if its left input has output.

    When an operator first has output, TreeGen reads its tree from the operators below it, and one round of
    CNGen says which joins stand above. Nothing of a tree is stored. Setting up costs nothing, whatever the
    number of keywords; what is paid is making the same joins again and again.
    """

    def __init__(self, schema: ExpandedSchema, max_tuples: int) -> None:
        growing, alone = roots(schema)
        leaves = OperatorRows.leaves(alone.nodes[:, 0], complete=True)
        super().__init__(schema, max_tuples, leaves.joined(OperatorRows.leaves(growing.nodes[:, 0])))
        self._schema = schema
        self._grown: BoolArray = np.zeros(len(self.operators), bool)
        self.made = 0  # joins, each time that they were

    @property
    def count(self) -> int:
        return int((self.operators.left >= 0).sum())

    def grow(self, size: int, present: IntArray) -> None:
        fresh = present[~self._grown[present]]
        if not len(fresh) or size >= self.max_tuples:
            return
        self._grown[fresh] = True
        for additions in expand(self._schema, tree_gen(self.operators, fresh, size), self.max_tuples):
            self._add(joins_for(additions, fresh))

    def _add(self, joins: OperatorRows) -> None:
        numbers = self._rows_for(len(joins))
        for name in ("left", "node", "at", "condition", "size", "complete"):
            getattr(self.operators, name)[numbers] = getattr(joins, name)
        self._grown[numbers] = False
        self.meets[joins.left, joins.at] = True
        self.lookup.add(numbers, self.operators)
        self.made += len(joins)

    def _rows_for(self, count: int) -> IntArray:
        """Rows without an operator; more are made where there are too few."""
        free = np.flatnonzero(self.operators.left == _FREE)
        if len(free) < count:
            more = max(count, len(self.operators))
            empty = OperatorRows.leaves(np.zeros(more, np.int64))
            empty.left[:] = _FREE
            self.operators = self.operators.joined(empty)
            self._grown = np.concatenate([self._grown, np.zeros(more, bool)])
            self.meets = np.concatenate([self.meets, np.zeros((more, self.max_tuples), bool)])
            free = np.flatnonzero(self.operators.left == _FREE)
        return free[:count]

    def shrink(self, size: int, present: IntArray) -> BoolArray | None:
        has_output = np.zeros(len(self.operators), bool)
        has_output[present] = True
        dry = self._grown & (self.operators.size == size) & ~has_output
        if not dry.any():
            return None
        gone = self._above(dry)
        self._grown[dry | gone] = False
        self.meets[dry | gone] = False
        self.lookup.remove(gone)
        self.operators.left[gone] = _FREE
        self.operators.size[gone] = 0
        return gone

    def _above(self, operators: BoolArray) -> BoolArray:
        """The joins that stand on these, directly or by way of others."""
        above = np.zeros(len(operators), bool)
        while operators.any():
            operators = (self.operators.left >= 0) & operators[self.operators.left]
            above |= operators
        return above
