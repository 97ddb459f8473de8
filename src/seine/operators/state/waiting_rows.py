"""A buffer of rows until the watermark passes: an event-time queue of whole rows."""

from __future__ import annotations

import pyarrow as pa

from seine.operators.state.event_queue import TIME, EventQueue
from seine.operators.state.store import Store


class RowBuffer:
    """Rows ordered by one of their time columns, kept under `store.head[name]`.

    Law: over all calls, `release` gives back each row once, when the horizon is first beyond its time.
    """

    def __init__(self, store: Store, name: str, time: str) -> None:
        self._queue = EventQueue(store, name)
        self._time = time

    def release(self, arrived: pa.RecordBatch | None, horizon: int) -> pa.RecordBatch | None:
        """Buffer rows, and give back all buffered ones whose time is before the horizon.

        >>> from seine.operators.state.store import MemoryStore
        >>> waiting = RowBuffer(MemoryStore(), "rows", "_s")
        >>> waiting.release(pa.record_batch({"_s": [3, 8]}), 5).to_pylist()
        [{'_s': 3}]
        >>> waiting.release(None, 9).to_pylist()
        [{'_s': 8}]
        """
        rows = [] if arrived is None else [arrived.append_column(TIME, arrived[self._time])]
        due = self._queue.advance(rows, horizon)
        return None if due is None or not due.num_rows else due.drop_columns([TIME])
