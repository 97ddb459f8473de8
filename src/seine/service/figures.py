"""The figures of a service after a delivered micro-batch, as readers see them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from seine.graph.node import StatePlace
from seine.operators.limited.join_memory import MemoryAccount
from seine.runtime.output.sink import Sink
from seine.runtime.output.totals import Totals, rows_at

_RECENT_SECONDS = 10.0  # over which the rate is measured


@dataclass(frozen=True)
class DeliveryFigures:
    """What has been delivered up to a micro-batch, never changed.

    The rate is measured from the instant `measured_since`, when `rows_before` input rows had been delivered.
    """

    entry: int
    batches: int
    input_rows: int
    output_rows: int
    dead_letters: int
    dead_bytes: int  # of the dead-letter files, that are final
    dead_starts: tuple[int, ...]  # where these files start
    outputs: Mapping[str, int]
    importance: Mapping[str, float]
    cut: frozenset[str]
    state_rows: Mapping[int, int]  # by node
    port_rows: Mapping[int, Sequence[int]]  # by node and port
    group_rows: Mapping[int, int]  # by node
    punctuation_rows: Mapping[int, int]  # by node
    memory: Mapping[int, MemoryAccount]  # of joins within a memory, by node
    measured_since: float
    rows_before: int

    def rows_at(self, place: StatePlace) -> int:
        """The rows that a node holds, or one of its ports."""
        return rows_at(place, self.state_rows, self.port_rows)

    def rows_per_second(self) -> float:
        """The rate of input rows over the last seconds."""
        return (self.input_rows - self.rows_before) / max(time.monotonic() - self.measured_since, 1e-9)


class FigureTaker:
    """Takes the figures of a sink; only the thread that delivers micro-batches may do so."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._rows: deque[tuple[float, int]] = deque([(time.monotonic(), sink.totals.input_rows)])

    def advance(self) -> None:
        """Note that a micro-batch has been delivered, for the rate."""
        now = time.monotonic()
        self._rows.append((now, self._sink.totals.input_rows))
        while len(self._rows) > 2 and self._rows[1][0] < now - _RECENT_SECONDS:
            self._rows.popleft()

    def take(self) -> DeliveryFigures:
        """The figures at this moment. What the sink goes on changing is copied; the rest it replaces."""
        totals: Totals = self._sink.totals
        since, rows_before = self._rows[0]
        return DeliveryFigures(
            totals.entry,
            totals.batches,
            totals.input_rows,
            totals.output_rows,
            totals.dead_letters,
            totals.dead_bytes,
            tuple(one.start for one in totals.dead_segments) or (0,),
            MappingProxyType(dict(totals.outputs)),
            MappingProxyType(dict(totals.importance)),
            frozenset(totals.cut),
            MappingProxyType(totals.state_rows),
            MappingProxyType(totals.port_rows),
            MappingProxyType(totals.group_rows),
            MappingProxyType(totals.punctuation_rows),
            MappingProxyType(totals.memory),
            since,
            rows_before,
        )
