"""Demand-driven execution: which joins run and which sleep, kept up to date by messages.

Cites: SKWS 4.1
"""

from __future__ import annotations

import numpy as np

from benchmarks.keyword_meshes.operator_rows import OperatorRows
from seine.algebra.arrays import BoolArray, IntArray
from seine.rows.grouping import ranges


class DemandFlags:
    """Of each join two flags: d, a join above runs (or it yields results); r, its right source has tuples.

    Law: a join runs if and only if both hold. It cannot produce otherwise, or nobody consumes.

                         d and r: runs
              right dries /  ^        ^ \\ last parent stops
                         v  / fills    \\ v
                 d, not r: sleeps    r, not d: sleeps          a parent that is not the last one to stop,
                         |  ^ parent     |  ^ right            or not the first to start, moves the counter
              last stops v  | starts     v  | fills            `running_parents` alone
                         neither: sleeps

    A source tells the joins of which it is the right input when it fills or dries; a join that starts or
    stops tells its left input. Messages go down, so the sizes are settled from the largest on, each at once.
    Before it sleeps a join notes the step in `stopped_at`, from which it catches up when it wakes.

    Differs: the paper numbers ten transitions and explains five; the others are read as those of the drawing.
    Its stopTime is a step here, for the order that counts is that of arrival.
    """

    def __init__(self, operators: OperatorRows, nodes: int) -> None:
        self._operators = operators
        self.right_filled: BoolArray = np.zeros(len(operators), bool)
        self.running_parents: IntArray = np.zeros(len(operators), np.int64)
        self.running: BoolArray = np.zeros(len(operators), bool)
        self.stopped_at: IntArray = np.zeros(len(operators), np.int64)
        joins = np.flatnonzero(operators.left >= 0)
        self._by_right = joins[np.argsort(operators.node[joins], kind="stable")]
        self._first = np.searchsorted(operators.node[self._by_right], np.arange(nodes + 1))

    def wanted(self, numbers: IntArray) -> BoolArray:
        """The flag d."""
        return self._operators.complete[numbers] | (self.running_parents[numbers] > 0)

    def fill(self, nodes: IntArray) -> IntArray:
        """Sources that were empty have tuples: returns the joins that wake, the lower ones last."""
        return self._change(nodes, filled=True)

    def dry(self, nodes: IntArray, step: int) -> IntArray:
        """Sources have run empty: returns the joins that go to sleep, having done all up to this step."""
        halted = self._change(nodes, filled=False)
        self.stopped_at[halted] = step
        return halted

    def _change(self, nodes: IntArray, filled: bool) -> IntArray:
        pieces = [place for _, place in ranges(self._first[nodes], self._first[nodes + 1])]
        concerned = self._by_right[np.concatenate(pieces)] if pieces else self._by_right[:0]
        self.right_filled[concerned] = filled
        sizes = self._operators.size[concerned]
        turned: list[IntArray] = []
        notified = concerned[:0]
        for size in range(int(sizes.max(initial=0)), 1, -1):
            turned.append(self._turn(np.concatenate([concerned[sizes == size], notified]), filled))
            notified = self._operators.left[turned[-1]]
        return np.concatenate(turned) if turned else concerned

    def _turn(self, numbers: IntArray, start: bool) -> IntArray:
        """Those of the joins that must start or stop do so, and tell their left inputs."""
        run = self.right_filled[numbers] & self.wanted(numbers)
        changed = np.unique(numbers[run & ~self.running[numbers] if start else ~run & self.running[numbers]])
        self.running[changed] = start
        np.add.at(self.running_parents, self._operators.left[changed], 1 if start else -1)
        return changed
