"""The step of a fan: a join of rows with its parameter table, each match with the tag of the table row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from seine.evaluate.data_columns import DataColumns
from seine.operators.match.computed_rows import computed, parameters_in
from seine.operators.match.filters import Tables, selection_of, table_columns
from seine.operators.match.matched_rows import matched
from seine.operators.match.residual import Pairs
from seine.operators.step.arrived_delta import ArrivedDelta
from seine.operators.step.working_nodes import AnyOutput, Pushing
from seine.rows.delta import Delta

if TYPE_CHECKING:
    from seine.operators.match.fan_node import FanNode


class FanStep:
    """Sends rows on once for each tag whose condition they satisfy."""

    def __init__(self, node: FanNode, tables: Tables) -> None:
        self._node = node
        self._selection = selection_of(node.filter, tables)
        self._constants = table_columns(tables[node.filter.table])
        self._read = parameters_in(node.expressions) | {len(self._constants) - 1}  # the last is the tag

    def __call__(self, flow: Pushing[AnyOutput], arrived: ArrivedDelta, emission: AnyOutput) -> None:
        plus, minus = matched(self._selection, arrived)
        if not (len(plus[0]) or (minus is not None and len(minus[0]))):
            return
        begun, ended = self._fanned(arrived.delta.plus, arrived.plus, plus), None
        if arrived.delta.minus is not None and arrived.minus is not None and minus is not None:
            ended = self._fanned(arrived.delta.minus, arrived.minus, minus)
        flow.push(self._node.id, Delta(begun, ended), emission)

    def _fanned(self, batch: pa.RecordBatch, columns: DataColumns, pairs: Pairs) -> pa.RecordBatch:
        rows, picks = pairs
        at = pa.array(picks)
        constants = [column.take(at) if i in self._read else None for i, column in enumerate(self._constants)]
        tags = constants[-1] if self._node.tagged else None
        return computed(batch, columns, rows, self._node.expressions, constants, tags)
