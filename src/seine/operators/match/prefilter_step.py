"""The step of a prefilter: one mask for a batch, whatever the number of conditions."""

from __future__ import annotations

from collections.abc import Set
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.evaluate.data_columns import DataColumns
from seine.operators.match.filters import Tables, any_of
from seine.operators.step.working_nodes import AnyOutput, ArrivedDelta, Pushing

if TYPE_CHECKING:
    from seine.operators.match.prefilter_node import PrefilterNode


class PrefilterStep:
    """Lets pass what any of its filters wants."""

    def __init__(self, node: PrefilterNode, tables: Tables) -> None:
        self._node = node
        self._filters = any_of(node.filters, tables)

    def __call__(self, flow: Pushing[AnyOutput], arrived: ArrivedDelta, emission: AnyOutput) -> None:
        read = flow.read_of(self._node.id)
        flow.push(self._node.id, arrived.each(partial(self._passed, read)), emission)

    def wants(self, columns: DataColumns, num_rows: int) -> AnyArray | None:
        """Which rows pass; None if all."""
        return self._filters.holds(columns, num_rows)

    def _passed(self, read: Set[str] | None, batch: pa.RecordBatch, columns: DataColumns) -> pa.RecordBatch:
        mask = self.wants(columns, batch.num_rows)
        if mask is None or mask.all():
            return batch
        if read is not None:
            batch = batch.select([name for name in batch.schema.names if name[0] == "_" or name in read])
        return batch.take(pa.array(np.flatnonzero(mask)))
