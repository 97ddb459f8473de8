"""A selection in front of one input of a join: predicate pushdown for all queries of the join together.

    SELECT ... FROM a JOIN b ON a.k = b.k WHERE a.v > 5      prefilter "a.v > ?" ── join
    SELECT ... FROM a JOIN b ON a.k = b.k WHERE a.v > 7

Law: a row passes if any row of its parameter tables holds for it. Without state.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.evaluate.data_columns import DataColumns
from seine.graph.node import Filter, FilteringNode, NodesView, Signature
from seine.operators.match.any_of import Tables, any_of
from seine.operators.state.working_nodes import AnyOutput, ArrivedDelta, HostFlow, Pushing, StatelessNode


@dataclass(frozen=True)
class PrefilterNode(FilteringNode, StatelessNode):
    """In front of one join: keeps out what no query can use there."""

    kind = "prefilter"
    is_metered = False

    def make_step(self, port: int, flow: HostFlow) -> PrefilterStep:
        return PrefilterStep(self, flow.tables)

    @property
    def input_filters(self) -> tuple[Filter, ...]:
        return self.filters

    def signature(self, standing: NodesView) -> Signature | None:
        return None


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
