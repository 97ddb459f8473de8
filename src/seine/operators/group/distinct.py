"""DISTINCT, and UNION of several inputs: duplicate elimination among the rows that are alive.

Law: at every instant the output has each row once that is alive in any input.

    SELECT DISTINCT a FROM s            SELECT a FROM s UNION SELECT b FROM t

    rows ──> events ──(progress)──> groups by all columns: count ──> + when it leaves 0, - when it returns
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from seine.operators.group.copies import Copies
from seine.operators.group.group_release import Releasing
from seine.operators.group.grouped import Grouped
from seine.operators.state.event_queue import EventColumns, EventTimes
from seine.operators.state.keyed_table import HASH
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import Delta, PartialAggregates, data_names
from seine.rows.grouping import normalise

if TYPE_CHECKING:
    from seine.operators.group.distinct_node import DistinctNode
    from seine.operators.group.except_node import ExceptNode
    from seine.operators.group.multiset_node import MultisetNode


class DistinctOperator:
    """Groups by all columns; a group's result is the row itself."""

    _second = False

    def __init__(self, node: DistinctNode | ExceptNode | MultisetNode, buckets: int = 1) -> None:
        self._streams = node.streams
        self._width = len(node.types)
        releases = node.releases
        self._inputs = len(node.ports) - (len(releases.purges) if releases else 0)
        punctuations = node.ports[self._inputs :]
        self._releasing = Releasing(node.ports[0], punctuations, releases, buckets) if releases else None
        self._grouped = self._rows_by_value(node)

    def _rows_by_value(self, node: DistinctNode | ExceptNode | MultisetNode) -> Grouped | Copies:
        """What is kept of each row, and what is emitted of it."""
        sleeps = self._second and not node.releases
        return Grouped([t.arrow() for t in node.types], [], [], self._second, sleeps=sleeps)

    def step(
        self, inputs: list[list[Delta]], clock: Clock, store: Store
    ) -> Iterator[Delta | PartialAggregates]:
        arrived = EventTimes([], [])
        for port, deltas in enumerate(inputs[: self._inputs]):
            for delta in deltas:
                arrived.take(delta, partial(self._columns, port))
        progress = clock.progress(self._streams)
        yield from self._grouped.advance(arrived, progress, store)
        if self._releasing:
            count = sum(batch.num_rows for batch in arrived.events)
            self._releasing.step(inputs[self._inputs :], count, clock, self._streams, store, self._grouped)

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return self._grouped.size(store)

    def punctuation_rows(self, store: Store) -> int:
        return self._releasing.punctuation_rows(store) if self._releasing else 0

    def _columns(self, port: int, rows: pa.RecordBatch) -> EventColumns:
        row = [normalise(rows[name]) for name in data_names(self._width)]
        return [
            (HASH, rows[HASH]),
            *((f"k{i}", array) for i, array in enumerate(row)),
            *self._side(rows, port),
        ]

    def _side(self, rows: pa.RecordBatch, port: int) -> EventColumns:
        """Which input a row came by, where that matters."""
        return []
