"""GROUP BY over the rows that are alive, incrementally: each change of a group's result, in event time.

Law: at every instant the rows that it has emitted and not ended are the aggregates of the rows alive then.

    SELECT k, count(*), max(v) FROM s GROUP BY k

    rows ──> events (+ at _s, - at _e or _d) ──(progress)──> groups: count, folds, result row
                                                             │ the result changed at t:
                                                             └──> old row ends at t, new row begins at t
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from seine.algebra import aggregates
from seine.algebra.plan import AggregateCall
from seine.operators.aggregates.argument import value_of
from seine.operators.aggregates.calls import CompiledAggregate, compile_call
from seine.operators.aggregates.registered import compile_registered
from seine.operators.group.group_release import Releasing
from seine.operators.group.grouped import Grouped
from seine.operators.state.event_queue import TIME, WEIGHT, EventColumns, EventTimes
from seine.operators.state.keyed_table import HASH
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta, PartialAggregates, data_names
from seine.rows.grouping import normalise

if TYPE_CHECKING:
    from seine.operators.group.aggregate_node import AggregateNode

Registry = Callable[[str], aggregates.UserAggregate | None]


class AggregateOperator:
    """One result row for each group that has live rows; without keys, one always.

    One that regroups gets the partial aggregates of finer groups instead of rows, and emits the same as if it
    had got the rows: its bound is theirs, so parts wait for nothing, and instants come to it complete. Of
    groups with fewer than `least` live rows nothing is emitted: every reader asks for that many. `notices`
    has, once each, what went wrong inside users' own aggregates.
    """

    def __init__(
        self, node: AggregateNode, registry: Registry | None = None, least: int = 1, buckets: int = 1
    ) -> None:
        self.notices: list[str] = []
        self._registry = registry or aggregates.lookup
        self._lasting = node.lasting
        self._flushes = node.flushes
        self._streams = node.streams
        self._port = node.ports[0]
        keys = [key.type.arrow() for key in self._port.key]
        calls, carried = (list(map(self._compile, wanted)) for wanted in (node.calls, node.carried))
        types = [call.type.arrow() for call in node.calls]
        self._regroups = node.regroups
        width = len(self._port.types) if node.regroups else None
        sleeps = least > 1 and not node.releases
        self._grouped = Grouped(keys, calls, types, carried=carried, width=width, least=least, sleeps=sleeps)
        releases, ports = node.releases, node.ports[1:]
        self._releasing = Releasing(self._port, ports, releases, buckets) if releases else None

    def step(
        self, inputs: list[list[Delta]], clock: Clock, store: Store
    ) -> Iterator[Delta | PartialAggregates]:
        arrived = EventTimes([], [])
        for delta in inputs[0]:
            self._take(delta, arrived)
        progress = FOREVER if self._flushes and clock.end else clock.progress(self._streams)
        yield from self._grouped.advance(arrived, progress, store)
        if self._releasing:
            count = sum(batch.num_rows for batch in arrived.events)
            self._releasing.step(inputs[1:], count, clock, self._streams, store, self._grouped)

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return self._grouped.size(store)

    def punctuation_rows(self, store: Store) -> int:
        return self._releasing.punctuation_rows(store) if self._releasing else 0

    def _take(self, delta: Delta, arrived: EventTimes) -> None:
        if not self._regroups:
            arrived.take(delta, self._columns)
        elif delta.num_rows:
            arrived.events.append(self._parts(delta.plus))

    def _parts(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The parts of finer groups as events."""
        named = [(name, rows[name]) for name in (TIME, WEIGHT)]
        named += [*self._columns(rows), *self._grouped.folding.parts_of(rows)]
        return pa.RecordBatch.from_arrays([array for _, array in named], [name for name, _ in named])

    def _columns(self, rows: pa.RecordBatch) -> EventColumns:
        row = [rows[name] for name in data_names(len(self._port.types))]
        keys = [normalise(value_of(key, row, rows.num_rows)) for key in self._port.key]
        named = [(f"k{i}", key) for i, key in enumerate(keys)]
        return [(HASH, rows[HASH]), *named, *self._grouped.folding.columns(row, rows.num_rows, self._notice)]

    def _compile(self, call: AggregateCall) -> CompiledAggregate:
        registered = self._registry(call.function)
        if registered is None:
            compiled = compile_call(call)
        else:
            compiled = compile_registered(call, registered, self._notice)
        return compiled.lasting() if self._lasting else compiled

    def _notice(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)
