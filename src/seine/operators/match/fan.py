"""The step of a fan: a join of rows with its parameter table, each match with the tag of the table row.

The assignment of rows to event-time windows: each row once for every window that has its time.

    window(ts, 10, 5)      row at 7  ──> ([0, 10), row), ([5, 15), row)
    window(ts, 20)                   ──> ([0, 20), row)

Lengths are constants of queries, a row of a parameter table each: the rows come as pairs (row, query's row of
the table), and every pair has lengths of its own. A row whose time is NULL is in no window.

A selection and projection in front of a pipeline breaker that tells the rows of different queries apart.

    SELECT count(*) FROM s WHERE v > 5 GROUP BY k            row (k=1, v=9) of s
    SELECT count(*) FROM s WHERE v > 7 GROUP BY k            fan ──> (tag 1, k=1), (tag 2, k=1)

Law: fan(rows) = {tag(i) + expressions(row, i) | row of the input, i row of the table, condition i holds}.
Without state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.event_windows import PANE, UNTIL, WINDOW_END, EventWindow, window_of, windows_of
from seine.algebra.expressions import Call, Expression
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import evaluate
from seine.evaluate.kernels.dates import latest_starts
from seine.evaluate.kernels.spending import begin, spend
from seine.graph.node import NodesView, SelectingNode, Signature
from seine.operators.match.any_of import Tables, selection_of, table_columns
from seine.operators.match.residual import Pairs
from seine.operators.match.selection import Picked, computed, matched, parameters_in
from seine.operators.state.working_nodes import AnyOutput, ArrivedDelta, HostFlow, Pushing, StatelessNode
from seine.rows.delta import FOREVER, Delta


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


_PAIR_BYTES = 64  # of a row in one window, at the least
Evaluating = Callable[[Expression], pa.Array]  # the values of an expression for each pair


class Assigned(NamedTuple):
    """Pairs, by number, once for each window, and the windows' starts and ends."""

    pairs: IntArray
    starts: IntArray
    ends: IntArray

    def key(self, call: Expression) -> pa.Array:
        """The values of a key that is the start or the end of the window."""
        ends = isinstance(call, Call) and call.name == WINDOW_END
        return pa.array(self.ends if ends else self.starts).view(call.type.arrow())


def window_among(expressions: Sequence[Expression]) -> EventWindow | None:
    """The window to which rows are assigned, if among expressions there is one alone."""
    windows = windows_of(expressions)
    return windows[0] if len(windows) == 1 else None


def _spend(counts: IntArray, constants: Sequence[IntArray]) -> None:
    """Count the windows of each query that asks for them, before there are any."""
    if not len(counts):
        return
    if all((one == one[0]).all() for one in constants):  # they need no sorting
        spend(size=int(counts.sum()) * _PAIR_BYTES, constants=[int(one[0]) for one in constants])
        return
    each, inverse = np.unique(np.stack(constants), axis=1, return_inverse=True)
    windows = np.bincount(inverse.reshape(-1), weights=counts, minlength=each.shape[1])
    for column, count in enumerate(windows.tolist()):
        spend(size=int(count) * _PAIR_BYTES, constants=each[:, column].tolist())


def assign(window: EventWindow, evaluating: Evaluating) -> Assigned:
    """Assign pairs to all windows that have their time."""
    time = evaluating(window.time)
    known = np.flatnonzero(time.is_valid().to_numpy(zero_copy_only=False)) if time.null_count else None
    times = time.view(pa.int64()).fill_null(0).to_numpy()
    lengths, slides, origins = (evaluating(constant).to_numpy() for constant in window.constants)
    if known is not None:
        times, lengths, slides, origins = (one[known] for one in (times, lengths, slides, origins))
    latest = latest_starts(times, slides, origins)
    counts = (latest + lengths - times - 1) // slides + 1
    begin(window.start)
    _spend(counts, (lengths, slides, origins))
    places = np.repeat(np.arange(len(times)), counts)
    back = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = latest[places] - back * slides[places]
    pairs = places if known is None else known[places]
    return Assigned(pairs, starts, starts + lengths[places])


@dataclass(frozen=True)
class FanNode(SelectingNode, StatelessNode):
    """What satisfies a row of the table goes on, computed, with that row's tag in front.

    So queries that differ in constants share the pipeline breaker behind it, each with tags of its own. The
    expressions may have parameters too; the tag is the table's last column. An untagged fan has one row.
    """

    kind = "fan"
    expressions: tuple[Expression, ...]
    tagged: bool

    @property
    def computed(self) -> tuple[tuple[int, tuple[Expression, ...]], ...]:
        return (*super().computed, (self.filter.table, self.expressions))

    def make_step(self, port: int, flow: HostFlow) -> FanStep:
        return FanStep(self, flow.tables)

    def signature(self, standing: NodesView) -> Signature | None:
        return None
