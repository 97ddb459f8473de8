"""A coarse filter before a predicate index: drops the rows that no box can contain.

As a zone map prunes pages, the bounding interval of all boxes on an axis prunes rows: on each axis a row must
lie between the weakest lower and the weakest upper bound or, where boxes demand points, be one of them
(up to false positives of a hash filter); and it must satisfy the conjuncts without parameters. Each step
looks only at the rows that are left, the cheap steps first.

    boxes on one axis        [5, 9]  [7, 20]  [8, 12]
    bounding interval        [5 ................. 20]

Law: a row that is dropped is in no box.

Cites: ARGUS 5.1 (the weakest constant does the work, the others refine it)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.expressions import Column, Expression
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import is_true
from seine.evaluate.kernels.ordinals import VALUE_CODES
from seine.operators.match.boxes import Boxes
from seine.operators.match.code_lookup import CodeGroups

_MOST_ROWS_BY_INTERVAL = 256  # rows up to which points are tested by their bounding interval alone
_SHRINK_FACTOR = 2  # rows are compacted between steps if so many times fewer are left


class Survivors(NamedTuple):
    """The rows that are left (None: all), how many, and the codes of each term in them."""

    rows: IntArray | None
    size: int
    codes: list[IntArray]


class CoarseFilter:
    """The bounding intervals and points of all boxes of a table, and the conjuncts without parameters."""

    def __init__(self, boxes: Boxes, groups: CodeGroups, common: Sequence[Expression]) -> None:
        self._terms = boxes.terms
        self._points = dict(zip(boxes.equal, groups.indices, strict=True))
        self._common = sorted(common, key=lambda part: len(str(part)))
        self._order = sorted(range(len(boxes.terms)), key=self._cost)
        self._intervals: list[tuple[int | None, int | None]] = []
        for term in range(len(boxes.terms)):
            equal = boxes.equal.get(term)
            low = high = None
            if equal is not None and len(equal):
                low, high = int(equal.min()), int(equal.max())
            for bound in boxes.bounds:
                if bound.term == term and len(boxes):
                    least = int(bound.least.min())
                    low, high = (low, ~least) if bound.upper else (least, high)
            self._intervals.append((low, high))

    def _cost(self, term: int) -> tuple[bool, bool]:
        expression, coder = self._terms[term]
        return coder is not VALUE_CODES, not isinstance(expression, Column)

    def survivors(self, columns: DataColumns, num_rows: int, rows: IntArray | None = None) -> Survivors:
        """Of the given rows (None: all) those that may be in a box."""
        left = _RemainingRows(rows, num_rows if rows is None else len(rows))
        for term in self._order:
            expression, coder = self._terms[term]
            codes = columns.codes(expression, coder, left.rows)
            left.codes[term] = codes.codes
            left.keep(codes.valid)
            if term in self._points and left.size > _MOST_ROWS_BY_INTERVAL:
                left.keep(self._points[term].may_have(codes.codes))
            else:
                low, high = self._intervals[term]
                left.keep(None if low is None else codes.codes >= low)
                left.keep(None if high is None else codes.codes <= high)
            left.shrink(_SHRINK_FACTOR)
            if not left.size:
                return Survivors(left.rows, 0, [])
        for part in self._common:
            left.keep(is_true(columns.values(part, left.rows)))
            left.shrink(_SHRINK_FACTOR)
        left.shrink(1)
        return Survivors(left.rows, left.size, [left.codes[term] for term in range(len(self._terms))])


class _RemainingRows:
    """The rows that are left (None: all), codes of them, and a pending mask that is applied lazily."""

    def __init__(self, rows: IntArray | None, size: int) -> None:
        self.rows, self.size = rows, size
        self.codes: dict[int, IntArray] = {}
        self._mask: BoolArray | None = None

    def keep(self, mask: BoolArray | None) -> None:
        """Conjoin a mask; None drops nothing."""
        if mask is not None:
            self._mask = mask if self._mask is None else self._mask & mask

    def shrink(self, times: int) -> None:
        """Apply the pending mask, if that leaves so many times fewer rows."""
        if self._mask is None:
            return
        count = int(np.count_nonzero(self._mask))
        if count == self.size:
            self._mask = None
        elif count * times <= self.size:
            places = np.flatnonzero(self._mask)
            self.rows = places if self.rows is None else self.rows[places]
            self.codes = {term: codes[places] for term, codes in self.codes.items()}
            self.size, self._mask = count, None
