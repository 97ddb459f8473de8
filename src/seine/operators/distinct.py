"""DISTINCT and UNION: each row once, as long as one like it is alive in any input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from seine.operators.clock import Clock
from seine.operators.delta import Delta, Parts, data_names
from seine.operators.events import Columns, events_of
from seine.operators.grouped import Grouped
from seine.operators.grouping import normalise
from seine.operators.hashing import hash_columns
from seine.operators.keyed import HASH
from seine.operators.store import Store

if TYPE_CHECKING:
    from seine.network.nodes import DistinctNode, ExceptNode


class DistinctOperator:
    """Groups by all columns; a group's result is the row itself."""

    _second = False

    def __init__(self, node: DistinctNode | ExceptNode) -> None:
        self._streams = node.streams
        self._width = len(node.types)
        self._grouped = Grouped([type_.arrow() for type_ in node.types], [], [], self._second)

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta | Parts]:
        arrived = [
            batch
            for port, deltas in enumerate(inputs)
            for delta in deltas
            for batch in events_of(delta, lambda rows, port=port: self._columns(rows, port))  # type: ignore[misc]
        ]
        yield from self._grouped.advance(arrived, clock.progress(self._streams), store)

    def state_rows(self, store: Store) -> int:
        return 0

    def _columns(self, rows: pa.RecordBatch, port: int) -> Columns:
        row = [normalise(rows[name]) for name in data_names(self._width)]
        hashes = pa.array(hash_columns(row, rows.num_rows))
        return [(HASH, hashes), *((f"k{i}", array) for i, array in enumerate(row)), *self._side(rows, port)]

    def _side(self, rows: pa.RecordBatch, port: int) -> Columns:
        """Which input a row came by, where that matters."""
        return []
