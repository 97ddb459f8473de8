"""Running aggregates: frames from the first row of a partition up to each row, folded as rows come.

    SUM(amount) OVER (PARTITION BY account ORDER BY ts)

    head["running"]    what the folds keep of each partition, and how many rows it has had

Law: the value of a row is that of its frame over all rows of the partition so far. Rows come in order and
never end, so none of them is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.over_plan import RANGE, OverFunction
from seine.operators.aggregates.calls import compile_call
from seine.operators.aggregates.fold import ROWS
from seine.operators.aggregates.folding import Events, SharedFolds
from seine.operators.state.change_layout import ChangeLayout
from seine.operators.state.keyed_table import HASH, KeyedTable
from seine.operators.state.store import Store
from seine.rows.column_arrays import as_arrow


class RunningFrames:
    """The running aggregates of one node in one bucket, over rows with columns of these types."""

    def __init__(
        self, functions: Sequence[OverFunction], types: Mapping[str, pa.DataType], partition: Sequence[str]
    ) -> None:
        self._functions, self._data = functions, [*types]
        self._folding = SharedFolds([compile_call(function.call).lasting() for function in functions])
        self._key = list(dict.fromkeys(partition))
        numbers = [pa.field(name, pa.int64()) for name in (HASH, ROWS)]
        keys = [pa.field(name, types[name]) for name in self._key]
        self._schema = pa.schema([*numbers, *keys, *self._folding.fields])

    def advance(
        self, rows: pa.RecordBatch, partition: IntArray, peers: IntArray, store: Store
    ) -> list[pa.Array]:
        """The values of each function for rows that are new, in order; `peers` ascend."""
        new = np.append(True, partition[1:] != partition[:-1])[: len(partition)]
        first = np.flatnonzero(new)
        last = np.append(first[1:], len(new))[: len(first)] - 1
        layout = ChangeLayout(first, last, np.cumsum(new) - 1, np.zeros(len(new), np.int64))
        places, weights = np.arange(len(new)), np.ones(len(new), np.int64)
        reached = layout.reached(places)
        events = Events(places, reached, weights, self._arguments(rows), places)
        heads, table = rows.take(pa.array(first)), self._table(store)
        stored = table.find(heads[HASH].to_numpy(), [heads[name] for name in self._key])
        count = layout.running(reached, weights, stored.numbers(ROWS))
        values, kept, _ = self._folding.advance(events, layout, stored, np.arange(len(first)), store)
        columns = [heads[HASH], count[last], *(heads[name] for name in self._key), *kept]
        table.write(pa.RecordBatch.from_arrays([as_arrow(column) for column in columns], schema=self._schema))
        made = self._folding.finish(count, values, places)
        with_peers = pa.array(np.searchsorted(peers, peers, "right") - 1)
        return [
            (value.take(with_peers) if function.frame.unit == RANGE else value).cast(
                function.call.type.arrow()
            )
            for function, value in zip(self._functions, made, strict=True)
        ]

    def everything(self, store: Store) -> pa.RecordBatch:
        """What is kept of all partitions."""
        return self._table(store).everything()

    def forget(self, rows: pa.RecordBatch, store: Store) -> None:
        """Forget partitions."""
        if rows.num_rows:
            none = pa.array(np.zeros(rows.num_rows, np.int64))
            self._table(store).write(rows.set_column(self._schema.get_field_index(ROWS), ROWS, none))

    def size(self, store: Store) -> int:
        """About how many partitions there are."""
        return sum(run["rows"] for run in store.head.get("running", ()))

    def _arguments(self, rows: pa.RecordBatch) -> pa.RecordBatch | None:
        """The columns that folds read; None if they read none."""
        columns = [rows[name] for name in self._data]
        named = self._folding.columns(columns, rows.num_rows, lambda text: None)
        if not named:
            return None
        return pa.RecordBatch.from_arrays([array for _, array in named], [name for name, _ in named])

    def _table(self, store: Store) -> KeyedTable:
        return KeyedTable(store, "running", self._schema, self._key, live=ROWS)
