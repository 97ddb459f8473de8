"""A join of rows with a parameter table: which rows satisfy which of very many selections of one shape.

Selections that differ only in constants are rows of a parameter table, so

    SELECT * FROM transfers WHERE bank = 'A' AND amount > 5
    SELECT * FROM transfers WHERE bank = 'B' AND amount > 9

are the shape `bank = ?0 AND amount > ?1` with the rows ('A', 5) and ('B', 9). For each conjunct that compares
an expression with a constant the expression is computed once for all selections; a predicate index finds the
candidate pairs; residual conjuncts are verified on these.

    rows ─> coarse filter ─> box index ─> residual ─> pairs (row, selection)

Cites: ARGUS 5.1 (the weakest constant does the work, the others refine it), MMQJP R_T

Which rows of a delta satisfy which selections.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Expression, split_shape
from seine.evaluate.data_columns import DataColumns
from seine.operators.match.box_index import BoxIndex
from seine.operators.match.boxes import coders_for, make_boxes, split_conjuncts
from seine.operators.match.coarse_filter import CoarseFilter
from seine.operators.match.code_lookup import CodeGroups
from seine.operators.match.residual import Pairs, Residual
from seine.operators.step.working_nodes import ArrivedDelta


class SelectionGroup:
    """The selections of one shape, compiled for any number of batches."""

    def __init__(
        self,
        shape: Expression | None,
        table: Sequence[pa.Array],
        count: int,
        checks: Sequence[Expression] = (),
    ) -> None:
        """Selection i is the shape with the constants `table[p][i]` for Parameter p; None is always true.

        `checks` are further conjuncts, evaluated last, on the pairs that satisfy everything else.
        """
        parts = split_conjuncts(shape, table, count)
        boxes = make_boxes(parts.comparisons, coders_for(parts.comparisons), count)
        self.count = count
        self._owners = boxes.owners
        groups = CodeGroups(list(boxes.equal.values()), len(boxes))
        self._coarse = CoarseFilter(boxes, groups, parts.common)
        self._residual = Residual([*parts.others, *checks], table)
        self._index = BoxIndex(boxes, groups)

    @staticmethod
    def of(predicates: Sequence[Expression]) -> SelectionGroup:
        """The group of predicates, which must all have one shape."""
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
        left = self._coarse.survivors(columns, num_rows)
        matches = []
        for rows, boxes in self._index.pairs(left.codes, left.size):
            pairs = (rows if left.rows is None else left.rows[rows]), self._owners[boxes]
            matches.append(self._residual.where(columns, *pairs))
        return _ordered(matches, num_rows)


_NONE = np.zeros(0, np.int64), np.zeros(0, np.int64)


def _ordered(chunks: list[Pairs], num_rows: int) -> Pairs:
    """All pairs, by selection and then by row."""
    if not chunks:
        return _NONE
    if len(chunks) == 1:
        rows, picks = chunks[0]
    else:
        rows, picks = (np.concatenate(side) for side in zip(*chunks, strict=True))
    bits = num_rows.bit_length()
    codes = picks << bits | rows
    if (codes[1:] > codes[:-1]).all():
        return rows, picks
    codes.sort()
    return codes & ((1 << bits) - 1), codes >> bits


def matched(selection: SelectionGroup, arrived: ArrivedDelta) -> tuple[Pairs, Pairs | None]:
    """The pairs of rows that begin with what they satisfy, and those of rows that end early, if any may."""
    plus = selection.match(arrived.plus, arrived.delta.plus.num_rows)
    if arrived.delta.minus is None or arrived.minus is None:
        return plus, None
    return plus, selection.match(arrived.minus, arrived.delta.minus.num_rows)
