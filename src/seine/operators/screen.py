"""The first look at a batch: drops the rows that no box can hold, by the weakest of all bounds.

Each step asks only the rows that are left, the cheap steps first.

Cites: ARGUS 5.1 (the weakest constant does the work, the others refine it)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seine.algebra.expressions import Column, Expression
from seine.operators.boxes import Boxes
from seine.operators.data_columns import Codes, DataColumns
from seine.operators.evaluate import is_true
from seine.operators.ordinals import OWN


class Survivors(NamedTuple):
    """Rows that are left (None: all), how many, and the codes of each term at them."""

    rows: np.ndarray | None
    size: int
    codes: list[np.ndarray]


class Screen:
    """What all boxes of a table demand together, and the conditions that they have in common."""

    def __init__(self, boxes: Boxes, common: Sequence[Expression]) -> None:
        self._terms = boxes.terms
        self._common = sorted(common, key=lambda part: len(str(part)))
        self._order = sorted(range(len(boxes.terms)), key=self._cost)
        self._reach: list[tuple[int | None, int | None]] = []
        for term in range(len(boxes.terms)):
            equal = boxes.equal.get(term)
            low = high = None
            if equal is not None and len(equal):
                low, high = int(equal.min()), int(equal.max())
            for bound in boxes.bounds:
                if bound.term == term and len(boxes):
                    least = int(bound.least.min())
                    low, high = (low, ~least) if bound.upper else (least, high)
            self._reach.append((low, high))

    def _cost(self, term: int) -> tuple[bool, bool]:
        expression, coder = self._terms[term]
        return coder is not OWN, not isinstance(expression, Column)

    def survivors(self, columns: DataColumns, num_rows: int, rows: np.ndarray | None = None) -> Survivors:
        """Of the given rows (None: all) those that may be in some box."""
        count = num_rows if rows is None else len(rows)
        found: dict[int, np.ndarray] = {}
        for term in self._order:
            expression, coder = self._terms[term]
            codes = columns.codes(expression, coder, rows)
            found[term] = codes.codes
            mask = _within(codes, *self._reach[term])
            if mask is not None:
                rows, count, found = _kept(mask, rows, count, found)
        for part in self._common:
            rows, count, found = _kept(is_true(columns.values(part, rows)), rows, count, found)
        return Survivors(rows, count, [found[term] for term in range(len(self._terms))])


def _within(codes: Codes, low: int | None, high: int | None) -> np.ndarray | None:
    mask = codes.valid
    if low is not None:
        mask = codes.codes >= low if mask is None else mask & (codes.codes >= low)
    if high is not None:
        mask = codes.codes <= high if mask is None else mask & (codes.codes <= high)
    return mask


def _kept(
    mask: np.ndarray, rows: np.ndarray | None, count: int, found: dict[int, np.ndarray]
) -> tuple[np.ndarray | None, int, dict[int, np.ndarray]]:
    places = np.flatnonzero(mask)
    if len(places) == count:
        return rows, count, found
    kept = places if rows is None else rows[places]
    return kept, len(kept), {term: codes[places] for term, codes in found.items()}
