"""What ranks and frames share: the live rows of partitions and what was shown of them, step by step.

    rows ──> begins, ends ──(progress)──> partitions to which something happens ──> what changes is emitted

What an operator makes of these partitions is its own; when rows are due, what is counted and which partitions
are forgotten is the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.operators.group.group_release import Releasing
from seine.operators.rank.live_rows import BEGUN, DueRows, LiveRows
from seine.operators.rank.row_order import RowOrder, RowOrdering
from seine.operators.rank.shown_rows import ShownRows
from seine.operators.state.keyed_table import HASH
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import Delta, data_names

if TYPE_CHECKING:
    from seine.operators.rank.over_node import OverNode
    from seine.operators.rank.rank_node import RankNode

Finished = Callable[[pa.RecordBatch], AnyArray]  # the places of the keys that are final


class KeptRows(Protocol):
    """What is kept of partitions, with the columns of their keys."""

    def everything(self, store: Store) -> pa.RecordBatch: ...

    def forget(self, rows: pa.RecordBatch, store: Store) -> None: ...

    def size(self, store: Store) -> int:
        """About how many rows there are."""
        ...


class PartitionOperator(ABC):
    """The live rows of the partitions of one node in one bucket, and the rows that are shown of them.

    A row that is shown has the `extra` columns, too, and with `numbered` its number.
    """

    def __init__(
        self, node: RankNode | OverNode, buckets: int, extra: Mapping[str, pa.DataType], numbered: bool
    ) -> None:
        port = node.ports[0]
        self._streams = node.streams
        self._data = data_names(len(port.types))
        types = {name: type_.arrow() for name, type_ in zip(self._data, port.types, strict=True)}
        self._partition = tuple(f"c{index}" for part in port.key for index in part.columns)
        time = BEGUN if node.timed else None
        self._ordering = RowOrdering(self._partition, node.order, time, tuple(self._data))
        self._live = LiveRows(types, port.identities)
        self._shown = ShownRows({**types, **extra}, numbered)
        self._kept: list[KeptRows] = [self._live, self._shown]
        self._compared = [HASH, BEGUN, *self._data]
        releases = node.releases
        self._releasing = Releasing(port, node.ports[1:], releases, buckets) if releases else None

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        progress = clock.progress(self._streams)
        arrived = sum(delta.plus.num_rows for delta in inputs[0])
        due = self._live.due(inputs[0], progress, store)
        if due is not None:
            yield from self._answer(due, store)
        if self._releasing:
            self._releasing.step(inputs[1:], arrived, clock, self._streams, store, self)

    @abstractmethod
    def _answer(self, due: DueRows, store: Store) -> Iterator[Delta]:
        """What changes by rows that begin and end."""

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return sum(rows.size(store) for rows in self._kept)

    def punctuation_rows(self, store: Store) -> int:
        return self._releasing.punctuation_rows(store) if self._releasing else 0

    def size(self, store: Store) -> int:
        """About how many rows there are."""
        return self.group_rows(store)

    def release(self, finished: Finished, store: Store) -> int:
        """Forget the rows of partitions that nothing will change; how many rows stay."""
        stay = 0
        for rows in self._kept:
            held = rows.everything(store)
            keys = [held[name] for name in self._partition]
            places = finished(pa.RecordBatch.from_arrays(keys, [f"k{i}" for i in range(len(keys))]))
            rows.forget(held.take(pa.array(places)), store)
            stay += held.num_rows - len(places)
        return stay

    def _ordered(self, parts: list[pa.RecordBatch]) -> tuple[pa.RecordBatch, RowOrder]:
        """Rows together, and their order."""
        rows = pa.concat_batches([part.select(self._compared) for part in parts])
        return rows, self._ordering.of(rows, rows[HASH].to_numpy())
