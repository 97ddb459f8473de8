"""Residual predicates: conjuncts with parameters that no index decides, evaluated on candidate pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.expressions import Expression, Parameter, walk
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import truth
from seine.operators.match.integer_comparison import LinearComparison

_ROWS_FOR_SCALARS = 64  # mean rows a selection from which its constants are better given as scalars

Pairs = tuple[IntArray, IntArray]  # positions of rows, positions of selections


class Residual:
    """Conjuncts over a row and a parameter row, each evaluated on the pairs that those before it left."""

    def __init__(self, parts: Sequence[Expression], table: Sequence[pa.Array]) -> None:
        self._table = table
        self._parts = [
            (
                part,
                {e.index for e in walk(part) if isinstance(e, Parameter)},
                LinearComparison.of(part, table),
            )
            for part in dict.fromkeys(parts)
        ]

    def __bool__(self) -> bool:
        return bool(self._parts)

    def where(self, columns: DataColumns, rows: IntArray, picks: IntArray) -> Pairs:
        """Of candidate pairs (row, selection) those for which all conjuncts hold."""
        for part, used, whole in self._parts:
            if not len(rows):
                break
            truths = None if whole is None else whole.holds(columns, rows, picks)
            if truths is None:
                truths = self._truth(part, used, columns, rows, picks)
            good = np.flatnonzero(truths)
            rows, picks = rows[good], picks[good]
        return rows, picks

    def _truth(
        self, part: Expression, used: set[int], columns: DataColumns, rows: IntArray, picks: IntArray
    ) -> BoolArray:
        """Whether a conjunct holds for each pair: by pair, or selection by selection where these are few."""
        order = np.argsort(picks, kind="stable")
        starts = np.flatnonzero(np.diff(picks[order], prepend=-1))
        if used and len(starts) * _ROWS_FOR_SCALARS > len(rows):
            return self._by_pair(part, used, columns, rows, picks)
        verdicts = np.empty(len(rows), bool)
        for mine in np.split(order, starts[1:]) if used else [order]:
            verdicts[mine] = self._by_selection(part, used, columns, rows[mine], int(picks[mine[0]]))
        return verdicts

    def _by_pair(
        self, part: Expression, used: set[int], columns: DataColumns, rows: IntArray, picks: IntArray
    ) -> BoolArray:
        """One evaluation with a column of constants for each parameter."""
        of = pa.array(picks)
        constants = [c.take(of) if i in used else None for i, c in enumerate(self._table)]
        return truth(part, columns.picked(part, rows), len(rows), constants)

    def _by_selection(
        self, part: Expression, used: set[int], columns: DataColumns, rows: IntArray, pick: int
    ) -> BoolArray:
        """One evaluation for the rows of one selection, with scalar constants."""
        constants = [c[pick] if i in used else None for i, c in enumerate(self._table)]
        return truth(part, columns.picked(part, rows), len(rows), constants)
