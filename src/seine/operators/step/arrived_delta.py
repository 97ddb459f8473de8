"""A delta between stateless nodes, with the expression values computed over it so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa

from seine.evaluate.data_columns import DataColumns
from seine.rows.delta import Delta


class ArrivedDelta(NamedTuple):
    """A delta, and what is computed over its columns, once for all who read it."""

    delta: Delta
    plus: DataColumns
    minus: DataColumns | None

    @staticmethod
    def of(delta: Delta) -> ArrivedDelta:
        return ArrivedDelta(
            delta, DataColumns(delta.plus), None if delta.minus is None else DataColumns(delta.minus)
        )

    def each(self, change: Callable[[pa.RecordBatch, DataColumns], pa.RecordBatch]) -> Delta:
        """The delta with both of its batches changed."""
        plus = change(self.delta.plus, self.plus)
        if self.delta.minus is None or self.minus is None:
            return Delta(plus)
        return Delta(plus, change(self.delta.minus, self.minus))
