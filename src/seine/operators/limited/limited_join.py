"""A join of streams, directly or through relations, that holds no more than its memory allows.

It follows event time up to the progress of all its streams; later tuples wait, which counts apart. Law: at
instant t what has expired leaves, then arrivals are admitted or evict (`seine.shedding`), then each arrival
meets what the other windows hold after that, and all other arrivals of t. So of the exact results those are
told of which every tuple that came before the latest one still resides, with the same lives; and memory
holds at most an equal share for each stream, however the input was cut.

Cites: STAR 3.2 (online approximation)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from seine.graph.nodes import LimitedNode
from seine.operators.limited.join_memory import Memory
from seine.operators.limited.losses import Losses
from seine.operators.limited.meeting import Meeting
from seine.operators.limited.memory_account import MemoryAccount
from seine.operators.limited.replay import Replay
from seine.operators.limited.residents import END, START, UNTIL, ArrivedTuples
from seine.operators.limited.tokens import Carrier, Relations
from seine.operators.state.store import Store
from seine.operators.state.waiting_rows import Waiting
from seine.rows.cheap_columns import doubles
from seine.rows.clock import Clock
from seine.rows.coalesce import coalesce
from seine.rows.delta import FOREVER, NUMBER, Delta, concat
from seine.shedding.arrivals import Arrivals


class LimitedOperator:
    """One join within a memory."""

    def __init__(self, node: LimitedNode, relations: Relations) -> None:
        self._node = node
        self._meeting = Meeting(node, relations)
        self._losses = Losses(node, relations)
        ports = range(len(node.ports))
        self._carriers = [Carrier(node.star, port, relations) for port in ports]
        self._items = [node.star.items[number] for number in node.star.streams]
        self._names = [[START, END, NUMBER, *self.needed(port)] for port in ports]

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns that rows of a port have to bring."""
        return self._meeting.needed(port)

    @property
    def streams(self) -> tuple[str, ...]:
        return self._node.streams

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        horizon = clock.progress(self._node.streams)
        replay = self.begin(inputs, horizon, store)
        if len(replay.times):
            yield from coalesce(replay.advance(FOREVER))
        replay.close(horizon)
        if clock.end:
            replay.clear()

    def begin(self, inputs: list[list[Delta]], horizon: int, store: Store) -> Replay:
        """Take in what arrived, and get ready to let event time pass up to a horizon."""
        due = [self._released(port, pieces, horizon, store) for port, pieces in enumerate(inputs)]
        return Replay(self._node, self._meeting, self._memory(store), due)

    def state_rows(self, store: Store) -> int:
        return self._memory(store).rows

    def state_by_port(self, store: Store) -> list[int]:
        return self._memory(store).rows_by_port

    def account(self, store: Store) -> MemoryAccount:
        """What memory has come to so far."""
        return self._memory(store).account.summary()

    def _memory(self, store: Store) -> Memory:
        return Memory(self._node, store, self._losses)

    def _released(self, port: int, pieces: list[Delta], horizon: int, store: Store) -> ArrivedTuples:
        """The tuples whose instants are complete, in the order of event time and arrival."""
        batches = [delta.plus.select(self._names[port]) for delta in pieces if delta.plus.num_rows]
        rows = Waiting(store, f"waiting{port}", START).release(concat(batches) if batches else None, horizon)
        if rows is None:
            return self._arrived(port, self._empty(port))
        order = np.lexsort((rows[NUMBER].to_numpy(), rows[START].to_numpy()))
        return self._arrived(port, rows.take(pa.array(order)))

    def _empty(self, port: int) -> pa.RecordBatch:
        types = self._items[port].types
        named = {
            name: types[int(name[1:])].arrow() if name[0] == "c" else pa.int64() for name in self._names[port]
        }
        return pa.RecordBatch.from_arrays([pa.array([], type_) for type_ in named.values()], [*named])

    def _arrived(self, port: int, rows: pa.RecordBatch) -> ArrivedTuples:
        """Tuples with what they carry. Also those that carry nothing mark an instant."""
        carried = self._carriers[port].carried(rows)
        arrivals = Arrivals(
            rows[NUMBER].to_numpy(),
            rows[START].to_numpy(),
            rows[END].to_numpy(),
            carried.until,
            self._importance(port, rows),
            carried.offsets,
            carried.tokens,
        )
        useful = rows.append_column(UNTIL, pa.array(carried.until)).take(pa.array(carried.useful))
        return ArrivedTuples(useful, arrivals)

    def _importance(self, port: int, rows: pa.RecordBatch) -> np.ndarray:
        """How much each tuple matters; all the same in a stream that does not say."""
        index = self._items[port].importance
        if index is None:
            return np.ones(rows.num_rows)
        return doubles(rows[f"c{index}"])
