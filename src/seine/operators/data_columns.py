"""The data columns of a batch by logical position, with what was computed over them."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from seine.algebra.expressions import Expression


class Remembering(Protocol):
    """Columns by position, with a memo of what was computed over them."""

    memo: dict[Expression, pa.Array]

    def __getitem__(self, index: int, /) -> pa.Array: ...


class DataColumns:
    """`columns[i]` is the batch's column `c{i}`; a batch has only the positions that someone needs.

    `memo` keeps values of expressions over this batch, for all who evaluate the same one.

    >>> columns = DataColumns(pa.record_batch({"c0": [1, 2], "c7": [3, 4]}))
    >>> columns[7].to_pylist()
    [3, 4]
    """

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self._places = {name: i for i, name in enumerate(batch.schema.names)}
        self.memo: dict[Expression, pa.Array] = {}

    def __getitem__(self, index: int) -> pa.Array:
        return self._batch.column(self._places[f"c{index}"])
