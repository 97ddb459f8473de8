"""A window join of streams with load shedding: it holds no more tuples than its memory limit.

The streams are joined directly or through relations (a star join):

    CREATE QUERY q WITH (memory = 1000, shed = 'auto') AS
    SELECT ... FROM r, s, edges WHERE r.k = edges.a AND edges.b = s.k

The join follows event time up to the progress of all its streams; later tuples wait in a queue, which does
not count as memory.

    arrivals ─> queue until complete ─> shedder: admit or evict ─> join with the other windows ─> results
                                             |
                                windows of `memory / streams` tuples each

Law: at instant t, what has expired leaves; then arrivals are admitted or evict others (`seine.shedding`);
then each arrival is joined with what the other windows hold after that, and with all other arrivals of t. So
the results are those exact results of which every tuple that is older than the latest one still resides, with
the same lifetimes; and each window holds at most an equal share, however the input was cut into steps.

Cites: STAR 3.2 (online approximation)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import FloatArray
from seine.operators.limited.arrival_join import ArrivalJoin
from seine.operators.limited.join_memory import JoinMemory
from seine.operators.limited.losses import Losses
from seine.operators.limited.memory_account import MemoryAccount
from seine.operators.limited.replay import Replay
from seine.operators.limited.residents import END, START, UNTIL, ArrivedTuples
from seine.operators.limited.tokens import Carrier, Relations
from seine.operators.state.event_queue import RowBuffer
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.column_arrays import to_doubles
from seine.rows.delta import ARRIVAL_NUMBER, FOREVER, Delta, coalesce, concat_batches
from seine.shedding.policy import Arrivals

if TYPE_CHECKING:
    from seine.operators.limited.limited_node import LimitedNode


class LimitedOperator:
    """The operator of a `LimitedNode`."""

    def __init__(self, node: LimitedNode, relations: Relations) -> None:
        self._node = node
        self._join = ArrivalJoin(node, relations)
        self._losses = Losses(node, relations)
        ports = range(len(node.ports))
        self._carriers = [Carrier(node.star, port, relations) for port in ports]
        self._items = [node.star.items[number] for number in node.star.streams]
        self._names = [[START, END, ARRIVAL_NUMBER, *self.needed(port)] for port in ports]

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns that rows of a port must have."""
        return self._join.needed(port)

    @property
    def streams(self) -> tuple[str, ...]:
        return self._node.streams

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        """Replay the instants that have become complete; yields the results that follow."""
        horizon = clock.progress(self._node.streams)
        replay = self.begin(inputs, horizon, store)
        if len(replay.times):
            yield from coalesce(replay.advance(FOREVER))
        replay.close(horizon)
        if clock.end:
            replay.clear()

    def begin(self, inputs: list[list[Delta]], horizon: int, store: Store) -> Replay:
        """Queue what arrived, and prepare to replay the instants before a horizon."""
        due = [self._released(port, pieces, horizon, store) for port, pieces in enumerate(inputs)]
        return Replay(self._node, self._join, self._memory(store), due)

    def state_rows(self, store: Store) -> int:
        """How many tuples all windows hold."""
        return self._memory(store).rows

    def state_by_port(self, store: Store) -> list[int]:
        """How many tuples the window of each port holds."""
        return self._memory(store).rows_by_port

    def account(self, store: Store) -> MemoryAccount:
        """The metrics of the join so far."""
        return self._memory(store).account.summary()

    def _memory(self, store: Store) -> JoinMemory:
        return JoinMemory(self._node, store, self._losses)

    def _released(self, port: int, pieces: list[Delta], horizon: int, store: Store) -> ArrivedTuples:
        """Queue arrivals; the queued tuples of complete instants, in the order of event time and arrival."""
        batches = [delta.plus.select(self._names[port]) for delta in pieces if delta.plus.num_rows]
        rows = RowBuffer(store, f"waiting{port}", START).release(
            concat_batches(batches) if batches else None, horizon
        )
        if rows is None:
            return self._arrived(port, self._empty(port))
        order = np.lexsort((rows[ARRIVAL_NUMBER].to_numpy(), rows[START].to_numpy()))
        return self._arrived(port, rows.take(pa.array(order)))

    def _empty(self, port: int) -> pa.RecordBatch:
        """A batch of a port without rows."""
        types = self._items[port].types
        named = {
            name: types[int(name[1:])].arrow() if name[0] == "c" else pa.int64() for name in self._names[port]
        }
        return pa.RecordBatch.from_arrays([pa.array([], type_) for type_ in named.values()], [*named])

    def _arrived(self, port: int, rows: pa.RecordBatch) -> ArrivedTuples:
        """Tuples with their tokens; tuples without a token are arrivals too, because they mark an instant."""
        carried = self._carriers[port].carried(rows)
        arrivals = Arrivals(
            rows[ARRIVAL_NUMBER].to_numpy(),
            rows[START].to_numpy(),
            rows[END].to_numpy(),
            carried.until,
            self._importance(port, rows),
            carried.offsets,
            carried.tokens,
        )
        useful = rows.append_column(UNTIL, pa.array(carried.until)).take(pa.array(carried.useful))
        return ArrivedTuples(useful, arrivals)

    def _importance(self, port: int, rows: pa.RecordBatch) -> FloatArray:
        """The importance of each tuple; 1 in a stream without IMPORTANCE BY."""
        index = self._items[port].importance
        if index is None:
            return np.ones(rows.num_rows)
        return to_doubles(rows[f"c{index}"])
