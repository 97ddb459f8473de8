"""Beginnings and ends of rows, in event time.

A row that lives in [_s, _e) is two events: weight +1 at _s and -1 at _e. A row that ends early
at _d is -1 at _d, and +1 at _e, which takes the announced end back: whatever is computed
by adding weights needs no search for the row that ended.

Law: the weights of the events up to an instant sum, for every row, to 1 if it is alive then and else to 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from seine.operators.state.store import Store
from seine.rows.delta import FOREVER, Delta, concat

FAN_IN = 8
LONG = 256  # events; what is left of a shorter run is not worth writing again
TIME, WEIGHT = "_t", "_w"
Columns = Sequence[tuple[str, pa.Array]]


class EventTimes(NamedTuple):
    """Events, and those that never happen: the ends of rows that do not end by themselves."""

    events: list[pa.RecordBatch]
    unending: list[pa.RecordBatch]

    def take(self, delta: Delta, columns: Callable[[pa.RecordBatch], Columns]) -> None:
        """Add the events of a delta; `columns` says what those of some rows carry along."""
        if delta.plus.num_rows:
            self._take(delta.plus, "_s", +1, columns(delta.plus))
        if delta.minus is not None and delta.minus.num_rows:
            self._take(delta.minus, "_d", -1, columns(delta.minus))

    def _take(self, rows: pa.RecordBatch, first: str, weight: int, carried: Columns) -> None:
        self.events.append(_batch(rows[first], weight, carried))
        ends = _batch(rows["_e"], -weight, carried)
        open_ = times_of(ends) == FOREVER
        if open_.any():
            self.unending.append(ends.filter(pa.array(open_)))
            ends = ends.filter(pa.array(~open_))
        self.events.append(ends)


def times_of(batch: pa.RecordBatch) -> np.ndarray:
    return batch[TIME].to_numpy()


def weights_of(batch: pa.RecordBatch) -> np.ndarray:
    return batch[WEIGHT].to_numpy().astype(np.int64)


class EventQueue:
    """Events that wait for their instant, in runs sorted by time.

    A run is consumed from its front; runs of one tier are merged when they are many, so an
    event is rewritten a logarithmic number of times at most.
    """

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._runs: list[dict[str, Any]] = store.head.setdefault(name, [])

    def advance(self, arrived: list[pa.RecordBatch], bound: int) -> pa.RecordBatch | None:
        """Take in what arrived; give back all events before the bound, in order of time."""
        due = self.due(arrived, bound)
        return _sorted(due) if due else None

    def due(self, arrived: list[pa.RecordBatch], bound: int) -> list[pa.RecordBatch]:
        """Take in what arrived; give back all events before the bound, in any order."""
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
        """How many events wait."""
        return sum(run["rows"] - run["start"] for run in self._runs)

    def pending(self) -> Iterator[pa.RecordBatch]:
        """All events that wait."""
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
        if run["rows"] >= LONG and 4 * cut >= 3 * run["rows"]:  # few stragglers must not keep a long run
            self._store.drop(run["run"])
            rest = _compact(batch[cut:])
            run.update(run=self._store.put(rest), rows=rest.num_rows, start=0)

    def _add(self, batch: pa.RecordBatch) -> None:
        tier = 0
        while len(full := [run for run in self._runs if run["tier"] == tier]) >= FAN_IN - 1:
            batches = [self._store.get(run["run"])[run["start"] :] for run in full]
            for run in full:
                self._store.drop(run["run"])
                self._runs.remove(run)
            tier += 1
            batch = _sorted([*batches, batch])
        first, name = int(times_of(batch)[0]), self._store.put(batch)
        self._runs.append({"run": name, "rows": batch.num_rows, "start": 0, "next": first, "tier": tier})


def _batch(times: pa.Array, weight: int, columns: Columns) -> pa.RecordBatch:
    weights = pa.array(np.full(len(times), weight, np.int8))
    named = [(TIME, times), (WEIGHT, weights), *columns]
    return pa.RecordBatch.from_arrays([array for _, array in named], names=[name for name, _ in named])


def _sorted(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    whole = concat(batches)
    times = times_of(whole)
    if (times[1:] >= times[:-1]).all():
        return whole
    return whole.take(pa.array(np.argsort(times, kind="stable")))


def _compact(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A copy without the rows that a slice hides, so that a run holds only its own."""
    return batch.take(pa.array(np.arange(batch.num_rows)))
