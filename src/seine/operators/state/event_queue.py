"""A priority queue by event time, of weighted events: the beginnings and ends of rows.

A row that lives in [_s, _e) is two events: weight +1 at _s and -1 at _e. A row that ends early
at _d is -1 at _d, and +1 at _e, which takes the announced end back: whatever is computed
by adding weights needs no search for the row that ended.

Law: the weights of the events up to an instant sum, for every row, to 1 if it is alive then and else to 0.

The queue is log-structured: runs sorted by time, consumed from the front, merged with others of their size.

    tier 0   [3 5 9]  [4 8]              advance(bound=5) takes 3, 4 and 1, 2
    tier 1   [1 2 6 7 7 9 ...]
              ^ start

A buffer of rows until the watermark passes: an event-time queue of whole rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.state.store import Store
from seine.rows.delta import FOREVER, Delta, concat_batches

MERGED_RUNS = 8  # runs of one tier, the new one among them, that are merged into one
LEAST_ROWS_REWRITTEN = 256  # events; of a shorter run the unconsumed rest is not worth a rewrite
TIME, WEIGHT = "_t", "_w"
EventColumns = Sequence[tuple[str, pa.Array]]


class EventTimes(NamedTuple):
    """Batches of events that happen, and of events at FOREVER: the ends of rows with an open lifetime."""

    events: list[pa.RecordBatch]
    unending: list[pa.RecordBatch]

    def take(self, delta: Delta, columns: Callable[[pa.RecordBatch], EventColumns]) -> None:
        """Append the events of a delta; `columns` computes from rows the columns that their events carry."""
        if delta.plus.num_rows:
            self._take(delta.plus, "_s", +1, columns(delta.plus))
        if delta.minus is not None and delta.minus.num_rows:
            self._take(delta.minus, "_d", -1, columns(delta.minus))

    def _take(self, rows: pa.RecordBatch, first: str, weight: int, carried: EventColumns) -> None:
        self.events.append(_batch(rows[first], weight, carried))
        ends = _batch(rows["_e"], -weight, carried)
        unending = times_of(ends) == FOREVER
        if unending.any():
            self.unending.append(ends.filter(pa.array(unending)))
            ends = ends.filter(pa.array(~unending))
        self.events.append(ends)


def times_of(batch: pa.RecordBatch) -> IntArray:
    """The instants of events."""
    times: IntArray = batch[TIME].to_numpy()
    return times


def weights_of(batch: pa.RecordBatch) -> IntArray:
    """The weights of events, as int64."""
    weights: IntArray = batch[WEIGHT].to_numpy().astype(np.int64)
    return weights


class EventQueue:
    """Events that wait for their instant, in runs sorted by time.

    A run is consumed from its front; eight runs of one tier are merged into one of the next tier, so an
    event is rewritten a logarithmic number of times at most.
    """

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._runs: list[dict[str, Any]] = store.head.setdefault(name, [])

    def advance(self, arrived: list[pa.RecordBatch], bound: int) -> pa.RecordBatch | None:
        """Enqueue events, and dequeue all that are before the bound, in order of time."""
        due = self.due(arrived, bound)
        return _sorted(due) if due else None

    def due(self, arrived: list[pa.RecordBatch], bound: int) -> list[pa.RecordBatch]:
        """Enqueue events, and dequeue all that are before the bound, in any order."""
        due = [piece for run in self._runs if run["next"] < bound for piece in self._take(run, bound)]
        self._runs[:] = [run for run in self._runs if run["start"] < run["rows"]]
        later = []
        for batch in arrived:
            ready = times_of(batch) < bound
            if ready.all():
                due.append(batch)
            elif not ready.any():
                later.append(batch)
            else:
                due.append(batch.filter(pa.array(ready)))
                later.append(batch.filter(pa.array(~ready)))
        if later:
            self._add(_sorted(later))
        return [piece for piece in due if piece.num_rows]

    @property
    def size(self) -> int:
        """The number of events in the queue."""
        return sum(run["rows"] - run["start"] for run in self._runs)

    def pending(self) -> Iterator[pa.RecordBatch]:
        """All events in the queue, by run."""
        for run in self._runs:
            yield self._store.get(run["run"])[run["start"] :]

    def _take(self, run: dict[str, Any], bound: int) -> Iterator[pa.RecordBatch]:
        batch = self._store.get(run["run"])
        times = times_of(batch)
        cut = int(times.searchsorted(bound))
        yield batch[run["start"] : cut]
        run["start"] = cut
        if cut == run["rows"]:
            self._store.drop(run["run"])
            return
        run["next"] = int(times[cut])
        # a few remaining events must not keep a long run
        if run["rows"] >= LEAST_ROWS_REWRITTEN and 4 * cut >= 3 * run["rows"]:
            self._store.drop(run["run"])
            rest = _compact(batch[cut:])
            run.update(run=self._store.put(rest), rows=rest.num_rows, start=0)

    def _add(self, batch: pa.RecordBatch) -> None:
        tier = 0
        while len(full := [run for run in self._runs if run["tier"] == tier]) >= MERGED_RUNS - 1:
            batches = [self._store.get(run["run"])[run["start"] :] for run in full]
            for run in full:
                self._store.drop(run["run"])
                self._runs.remove(run)
            tier += 1
            batch = _sorted([*batches, batch])
        first, name = int(times_of(batch)[0]), self._store.put(batch)
        self._runs.append({"run": name, "rows": batch.num_rows, "start": 0, "next": first, "tier": tier})


def _batch(times: pa.Array, weight: int, columns: EventColumns) -> pa.RecordBatch:
    weights = pa.array(np.full(len(times), weight, np.int8))
    named = [(TIME, times), (WEIGHT, weights), *columns]
    return pa.RecordBatch.from_arrays([array for _, array in named], names=[name for name, _ in named])


def _sorted(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    whole = concat_batches(batches)
    times = times_of(whole)
    if (times[1:] >= times[:-1]).all():
        return whole
    return whole.take(pa.array(np.argsort(times, kind="stable")))


def _compact(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A copy of a slice, so that a run does not keep the memory of the rows before it."""
    return batch.take(pa.array(np.arange(batch.num_rows)))


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
