"""The step of a fan: a join of rows with its parameter table, each match with the tag of the table row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.event_windows import PANE, UNTIL, EventWindow, window_of
from seine.algebra.expressions import Call, Expression
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import evaluate
from seine.operators.match.computed_rows import Picked, computed, parameters_in
from seine.operators.match.filters import Tables, selection_of, table_columns
from seine.operators.match.matched_rows import matched
from seine.operators.match.residual import Pairs
from seine.operators.match.window_assignment import Assigned, assign, window_among
from seine.operators.step.arrived_delta import ArrivedDelta
from seine.operators.step.working_nodes import AnyOutput, Pushing
from seine.rows.delta import FOREVER, Delta

if TYPE_CHECKING:
    from seine.operators.match.fan_node import FanNode


class FanStep:
    """Sends rows on once for each tag whose condition they satisfy, and for each window of it."""

    def __init__(self, node: FanNode, tables: Tables) -> None:
        self._node = node
        self._selection = selection_of(node.filter, tables)
        self._constants = table_columns(tables[node.filter.table])
        self._read = parameters_in(node.expressions) | {len(self._constants) - 1}  # the last is the tag
        self._window = window_among(node.expressions)
        self._pane = _column(node, PANE)
        self._until = _column(node, UNTIL)

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
        if self._window is not None:
            return self._in_windows(batch, columns, pairs, self._window)
        constants = self._at(picks)
        tags = constants[-1] if self._node.tagged else None
        fanned = computed(batch, columns, rows, self._node.expressions, constants, tags)
        if self._until is not None:
            fanned = _ended(fanned, f"c{self._until}")
        return fanned if self._pane is None else self._as_of_panes(fanned, self._pane)

    def _as_of_panes(self, fanned: pa.RecordBatch, pane: int) -> pa.RecordBatch:
        """Rows that begin at the last instant of their pane; one whose time is NULL is in none."""
        last = fanned[f"c{pane}"]
        if last.null_count:
            fanned, last = fanned.filter(last.is_valid()), last.drop_null()
        return fanned.set_column(fanned.schema.get_field_index("_s"), "_s", last.view(pa.int64()))

    def _in_windows(
        self, batch: pa.RecordBatch, columns: DataColumns, pairs: Pairs, window: EventWindow
    ) -> pa.RecordBatch:
        """Each pair once for every window that has its time."""
        assigned = self._assigned(columns, pairs, window)
        rows, picks = (side[assigned.pairs] for side in pairs)
        constants = self._at(picks)
        tags = constants[-1] if self._node.tagged else None
        expressions = self._node.expressions
        given = [assigned.key(e) if window_of(e) is not None else None for e in expressions]
        return computed(batch, columns, rows, expressions, constants, tags, given)

    def _assigned(self, columns: DataColumns, pairs: Pairs, window: EventWindow) -> Assigned:
        rows, picks = pairs
        picked, constants = Picked(columns, rows), self._at(picks)

        def evaluating(expression: Expression) -> pa.Array:
            return evaluate(expression, picked, len(rows), constants)

        return assign(window, evaluating)

    def _at(self, picks: IntArray) -> list[pa.Array | None]:
        """The constants that are read, at rows of the table."""
        at = pa.array(np.asarray(picks))
        return [column.take(at) if i in self._read else None for i, column in enumerate(self._constants)]


def _column(node: FanNode, name: str) -> int | None:
    """The column that a function of this name gives; None if there is none."""
    calls = [i for i, e in enumerate(node.expressions) if isinstance(e, Call) and e.name == name]
    return calls[0] + node.tagged if calls else None


def _ended(rows: pa.RecordBatch, column: str) -> pa.RecordBatch:
    """Rows that end no later than a column says; what begins or is deleted after that is nothing."""
    until = rows[column].view(pa.int64()).fill_null(FOREVER)
    ends = np.minimum(rows["_e"].to_numpy(), until.to_numpy())
    rows = rows.set_column(rows.schema.get_field_index("_e"), "_e", pa.array(ends))
    happens = rows["_d" if "_d" in rows.schema.names else "_s"].to_numpy()
    return rows.filter(pa.array(happens < ends))
