"""Rows that wait until their instant is complete."""

from __future__ import annotations

import pyarrow as pa

from seine.operators.state.event_queue import TIME, EventQueue
from seine.operators.state.store import Store


class Waiting:
    """Rows by one of their time columns, kept under `store.head[name]`."""

    def __init__(self, store: Store, name: str, time: str) -> None:
        self._queue = EventQueue(store, name)
        self._time = time

    def release(self, arrived: pa.RecordBatch | None, horizon: int) -> pa.RecordBatch | None:
        """Take in rows, and give back all those whose time is before the horizon.

        >>> from seine.operators.state.store import MemoryStore
        >>> waiting = Waiting(MemoryStore(), "rows", "_s")
        >>> waiting.release(pa.record_batch({"_s": [3, 8]}), 5).to_pylist()
        [{'_s': 3}]
        >>> waiting.release(None, 9).to_pylist()
        [{'_s': 8}]
        """
        rows = [] if arrived is None else [arrived.append_column(TIME, arrived[self._time])]
        due = self._queue.advance(rows, horizon)
        return None if due is None or not due.num_rows else due.drop_columns([TIME])
