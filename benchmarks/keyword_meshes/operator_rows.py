"""Join operators as rows of arrays: left input, right input, and the condition between them.

Cites: SKWS 3.3
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.keyword_networks.expanded_schema import ExpandedSchema
from seine.rows.grouping import ranges

NO_OPERATOR = -1


@dataclass
class OperatorRows:
    """Operators of left-deep trees; an operator is its number, the place in these arrays.

    A join takes the tuples of `node`, a source, to the output of the operator `left`; they meet the tuple at
    position `at` of a left row by `condition`. A row of size m has m tuples, in the order in which their
    nodes were added. A leaf of a cluster has no left input: its rows are the tuples of its node. `complete`
    operators yield results, and nothing joins their output.

        j4  complete     left  node  at  condition  size          S{1} --- T{} --- V{2}
        |  \\             --------------------------------           \\
        j3  U{3}     j3  j2    T{1}  0   S-T        4               T{1} --- U{3}
        |  \\         j4  j3    U{3}  3   U-T        5
        ..  T{1}
    """

    left: IntArray
    node: IntArray
    at: IntArray
    condition: IntArray
    size: IntArray
    complete: BoolArray

    @classmethod
    def leaves(cls, nodes: IntArray, complete: bool = False) -> OperatorRows:
        """The leftmost sources of clusters, one for each of these nodes."""
        none = np.full(len(nodes), NO_OPERATOR)
        return cls(none, nodes, none, none, np.ones(len(nodes), np.int64), np.full(len(nodes), complete))

    def __len__(self) -> int:
        return len(self.left)

    def joined(self, *others: OperatorRows) -> OperatorRows:
        """These operators, and others behind them."""
        names = [field.name for field in fields(self)]
        columns = ([getattr(one, name) for one in (self, *others)] for name in names)
        return OperatorRows(*(np.concatenate(column) for column in columns))

    def positions_joined(self, max_tuples: int) -> BoolArray:
        """By operator and position: whether some join above meets the tuple at that position."""
        meets = np.zeros((len(self), max_tuples), bool)
        joins = np.flatnonzero(self.left >= 0)
        meets[self.left[joins], self.at[joins]] = True
        return meets


class OperatorLookup:
    """Finds the join that takes a tuple to a left row: by left input, position, condition and node.

    One search in a sorted array takes the place of a loop over all joins above an operator.
    """

    def __init__(self, schema: ExpandedSchema, max_tuples: int, operators: OperatorRows) -> None:
        self._bases = (max_tuples, max(1, len(schema.schema.conditions)), schema.nodes)
        self._keys, self._numbers = np.empty(0, np.int64), np.empty(0, np.int64)
        self.add(np.flatnonzero(operators.left >= 0), operators)

    def add(self, numbers: IntArray, operators: OperatorRows) -> None:
        """Enter joins."""
        columns = (operators.left, operators.at, operators.condition, operators.node)
        left, at, condition, node = (column[numbers] for column in columns)
        keys = np.concatenate([self._keys, self._key(left, at, condition, node)])
        order = np.argsort(keys, kind="stable")
        self._keys, self._numbers = keys[order], np.concatenate([self._numbers, numbers])[order]

    def remove(self, gone: BoolArray) -> None:
        """Forget the joins whose numbers the mask has."""
        kept = ~gone[self._numbers]
        self._keys, self._numbers = self._keys[kept], self._numbers[kept]

    def find(self, left: IntArray, at: IntArray, condition: IntArray, node: IntArray) -> IntArray:
        """The numbers of joins, or NO_OPERATOR."""
        if not len(self._keys):
            return np.full(len(left), NO_OPERATOR)
        wanted = self._key(left, at, condition, node)
        place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[place] == wanted, self._numbers[place], NO_OPERATOR)

    def above(self, numbers: IntArray) -> tuple[IntArray, IntArray]:
        """Pairs (position in `numbers`, a join whose left input that operator is)."""
        none = np.zeros(len(numbers), np.int64)
        low, high = (
            np.searchsorted(self._keys, self._key(left, none, none, none)) for left in (numbers, numbers + 1)
        )
        pieces = list(ranges(low, high))
        if not pieces:
            return numbers[:0], numbers[:0]
        owner, place = (np.concatenate(column) for column in zip(*pieces, strict=True))
        return owner, self._numbers[place]

    def _key(self, left: IntArray, at: IntArray, condition: IntArray, node: IntArray) -> IntArray:
        positions, conditions, nodes = self._bases
        return ((left * positions + at) * conditions + condition) * nodes + node
