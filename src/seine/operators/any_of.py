"""Rows that any of very many selections wants.

Cites: ARGUS 5.1 (the weakest constant does the work)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Expression
from seine.operators.data_columns import DataColumns
from seine.operators.selection import SelectionGroup


class AnyOf:
    """Filters, each a shape with rows of constants; a row passes if one row of one filter holds."""

    def __init__(self, filters: Sequence[tuple[Expression | None, Sequence[pa.Array], int]]) -> None:
        self._all = any(shape is None and count for shape, _, count in filters)
        self._groups = [SelectionGroup(shape, table, count) for shape, table, count in filters if count]

    def holds(self, columns: DataColumns, num_rows: int) -> np.ndarray | None:
        """The rows for which any filter holds, as a mask; None if all do."""
        if self._all:
            return None
        mask = np.zeros(num_rows, bool)
        for group in self._groups:
            mask[group.match(columns, num_rows)[0]] = True
        return mask
