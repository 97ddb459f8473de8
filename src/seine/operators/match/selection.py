"""All selections of one shape over one input, by one parameter table.

Selections that differ only in constants are rows of a table. For each conjunct that compares an
expression with a constant the expression is computed once for all of them; which rows are in which
boxes of constants is found by index; what remains is verified on the pairs that are left.

Cites: ARGUS 5.1 (the weakest constant does the work, the others refine it), MMQJP R_T
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Expression, split_shape
from seine.evaluate.data_columns import DataColumns
from seine.operators.match.box_index import BoxIndex
from seine.operators.match.boxes import coders_for, make_boxes, take_apart
from seine.operators.match.code_lookup import CodeGroups
from seine.operators.match.prefilter import Screen
from seine.operators.match.residual import Pairs, Residual


class SelectionGroup:
    """The selections of one shape; `match` says which rows satisfy which of them."""

    def __init__(
        self,
        shape: Expression | None,
        table: Sequence[pa.Array],
        count: int,
        checks: Sequence[Expression] = (),
    ) -> None:
        """Selection i is the shape with the constants `table[p][i]` for Parameter p; no shape is always true.

        The checks are further conjuncts, asked only of the pairs that satisfy all else.
        """
        parts = take_apart(shape, table, count)
        boxes = make_boxes(parts.comparisons, coders_for(parts.comparisons), count)
        self.count = count
        self._owners = boxes.owners
        groups = CodeGroups(list(boxes.equal.values()), len(boxes))
        self._screen = Screen(boxes, groups, parts.common)
        self._residual = Residual([*parts.others, *checks], table)
        self._index = BoxIndex(boxes, groups)

    @staticmethod
    def of(predicates: Sequence[Expression]) -> SelectionGroup:
        """The group of predicates that all have one shape."""
        shape, sample = split_shape(predicates[0])
        constants = [split_shape(p)[1] for p in predicates]
        table = [
            pa.array([row[i].value for row in constants], one.type.arrow()) for i, one in enumerate(sample)
        ]
        return SelectionGroup(shape, table, len(predicates))

    def match(self, columns: DataColumns, num_rows: int) -> Pairs:
        """Pairs (row, selection), ordered by selection and then by row."""
        if not len(self._owners) or not num_rows:
            return _NONE
        left = self._screen.survivors(columns, num_rows)
        found = []
        for rows, boxes in self._index.pairs(left.codes, left.size):
            pairs = (rows if left.rows is None else left.rows[rows]), self._owners[boxes]
            found.append(self._residual.where(columns, *pairs))
        return _ordered(found, num_rows)


_NONE = np.zeros(0, np.int64), np.zeros(0, np.int64)


def _ordered(found: list[Pairs], num_rows: int) -> Pairs:
    """All pairs, by selection and then by row."""
    if not found:
        return _NONE
    rows, picks = found[0] if len(found) == 1 else (np.concatenate(side) for side in zip(*found, strict=True))
    bits = num_rows.bit_length()
    codes = picks << bits | rows
    if (codes[1:] > codes[:-1]).all():
        return rows, picks
    codes.sort()
    return codes & ((1 << bits) - 1), codes >> bits
