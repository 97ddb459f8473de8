"""The state of a memory-limited join: the windows' tuples, their ranks, the capacity and the metrics.

head["memory"]   held: [{run, rows} | None per port]   ranks: run   capacity: {..}   account: {..}
                         |                               |
store            tuples held in each window     the shedder's state, one row of lists

Metrics of a memory-limited join: tuples shed, tuples held, importance delivered and, estimated, lost.

The capacity of windows: how many tuples the window of each stream of a memory-limited join may hold.

A limit in tuples is divided evenly among the streams, rounded down. A limit in bytes is divided by what one
tuple of each stream takes: the mean over all tuples that arrived before the last fixed point of event time.
Fixed points are the multiples of sixteen of the longest windows.

Law: the capacity at an instant depends on the tuples before it alone, not on how the input was cut.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from seine.algebra.arrays import FloatArray
from seine.algebra.star import MemoryLimit
from seine.operators.limited.losses import Ghosts, Losses, Shadows, lots, most_ghosts
from seine.operators.limited.star_combinations import ArrivedTuples, Residents, most_held
from seine.operators.state.store import Store
from seine.rows.delta import ARRIVAL_NUMBER, FOREVER
from seine.shedding.policies import DEFAULT_BETA, Shedding
from seine.shedding.policy import FLOATS, INTS
from seine.shedding.shedder import Shedder

if TYPE_CHECKING:
    from seine.operators.limited.limited_join import LimitedNode


class MemoryAccount(Struct, frozen=True):
    """Tuples shed, the most that were held, importance delivered, and importance lost (an estimate)."""

    shed: int
    peak: int
    delivered: float
    lost: float


class JoinMemory:
    """The windows of one join; `open` reads them from the store, `close` writes them back."""

    def __init__(self, node: LimitedNode, store: Store, losses: Losses) -> None:
        self._node, self._store = node, store
        empty: dict[str, Any] = {
            "held": [None] * len(node.ports),
            "ranks": None,
            "capacity": {},
            "account": {},
        }
        self._head: dict[str, Any] = store.head.setdefault("memory", empty)
        self.capacity = WindowCapacity(node, self._head["capacity"])
        self.account = Account(self._head["account"], losses)

    @property
    def rows_by_port(self) -> list[int]:
        """How many tuples each window holds."""
        return [run["rows"] if run else 0 for run in self._head["held"]]

    @property
    def rows(self) -> int:
        """How many tuples all windows hold."""
        return sum(self.rows_by_port)

    def open(self, empty: Sequence[pa.RecordBatch]) -> None:
        """Read what is held; `empty` gives the schemas of windows that hold nothing."""
        self._held = [
            none if run is None else self._store.get(run["run"])
            for run, none in zip(self._head["held"], empty, strict=True)
        ]
        edges = tuple(edge.ports for edge in self._node.star.edges)
        self._shedder = Shedder(shedding_of(self._node.memory), self.capacity.tuples, len(self._held), edges)
        if self._head["ranks"] is not None:
            self._shedder.load(self._store.get(self._head["ranks"]))
        self.account.open(self._store)

    def admit(self, new: Sequence[ArrivedTuples]) -> list[Residents]:
        """Admit the arrivals of a slice of complete instants, evicting what there is no capacity for."""
        starts = [int(arrived.arrivals.ts[0]) for arrived in new if len(arrived.arrivals)]
        self.capacity.pass_point(min(starts))
        self._shedder.capacity = self.capacity.tuples
        self.capacity.see(new)
        evicted = self._shedder.step([arrived.arrivals for arrived in new])
        residents = [
            Residents.of(held, arrived.batch, gone)
            for held, arrived, gone in zip(self._held, new, evicted, strict=True)
        ]
        self._shed = sum(len(gone.number) for gone in evicted)
        return residents

    def keep(self, residents: Sequence[Residents], instant: int) -> None:
        """Hold what is still held after the last instant of a slice, and count the slice."""
        self._held = [window.after(instant) for window in residents]
        self.account.count(residents, self._shed, self.capacity.tuples, instant)

    def squeeze(self, instant: int) -> None:
        """Shed at an instant what exceeds a capacity that has become smaller."""
        self._shedder.capacity = self.capacity.tuples
        evicted = self._shedder.squeeze(instant)
        residents = [
            Residents.of(held, held[:0], gone) for held, gone in zip(self._held, evicted, strict=True)
        ]
        self._shed = sum(len(gone.number) for gone in evicted)
        self.keep(residents, instant - 1)

    def close(self, horizon: int) -> None:
        """Write what is held when all instants before the horizon are over."""
        self._shedder.leave(horizon)
        ended = [Residents(held, 0, np.full(held.num_rows, FOREVER)).after(horizon) for held in self._held]
        self._drop()
        self._head["ranks"] = self._store.put(self._shedder.save())
        self._head["held"] = [self._put(held) for held in ended]
        self.account.close(self._store)

    def clear(self) -> None:
        """Drop everything: the streams have ended."""
        self._drop()
        self._head["held"], self._head["ranks"] = [None] * len(self._node.ports), None
        self.account.clear(self._store)

    def _put(self, held: pa.RecordBatch) -> dict[str, Any] | None:
        return {"run": self._store.put(held), "rows": held.num_rows} if held.num_rows else None

    def _drop(self) -> None:
        runs = [run["run"] for run in self._head["held"] if run]
        for name in [*runs, *([self._head["ranks"]] if self._head["ranks"] else [])]:
            self._store.drop(name)


def shedding_of(limit: MemoryLimit) -> Shedding:
    """The shedding policy that the options of a query ask for."""
    beta = DEFAULT_BETA if limit.beta is None else limit.beta
    return Shedding(limit.shed, limit.alpha, beta, limit.seed, limit.importance)


class Account:
    """Durable counters, and the sample of shed tuples by which losses are estimated.

    `note` is the part of the store's head where they are kept:

        shed, peak                 tuples shed so far; the most that were held at an instant
        delivered, divided_at      importance of all results; what it was when a budget was divided last
        lost                       importance of results that shedding prevented, an estimate
        level, draws, ghosts       of the sample: chance 2**-level, draws so far, names of runs
    """

    def __init__(self, note: dict[str, Any], losses: Losses) -> None:
        if not note:
            note.update(shed=0, peak=0, delivered=0.0, divided_at=0.0, lost=0.0, level=0, draws=0, ghosts=[])
        self._note, self._losses = note, losses
        self._ghosts: list[Ghosts] = []

    def summary(self) -> MemoryAccount:
        """The counters that are reported: shed, peak, delivered and lost."""
        note = self._note
        return MemoryAccount(note["shed"], note["peak"], float(note["delivered"]), float(note["lost"]))

    def open(self, store: Store) -> None:
        """Read the sample."""
        self._ghosts = [Ghosts(store.get(name)) for name in self._note["ghosts"]]

    def deliver(self, importance: float) -> None:
        """Count the importance of delivered results."""
        self._note["delivered"] += importance

    def delivered_since(self) -> float:
        """The importance delivered since the last call; 0 once it is infinite."""
        more = self._note["delivered"] - self._note["divided_at"]
        self._note["divided_at"] = self._note["delivered"]
        return float(more) if math.isfinite(more) else 0.0

    def count(self, residents: Sequence[Residents], shed: int, capacity: int, instant: int) -> None:
        """Count a slice of event time that ends with an instant and shed so many tuples."""
        note = self._note
        note["shed"] += shed
        note["peak"] = max(note["peak"], most_held(residents))
        if not shed and not any(ghosts.count for ghosts in self._ghosts):
            return
        fresh = [_weights(window, port, note["level"]) for port, window in enumerate(residents)]
        if not self._ghosts:
            self._ghosts = [Ghosts.none(window) for window in residents]
        shadows = [Shadows.of(*one) for one in zip(residents, self._ghosts, fresh, strict=True)]
        note["lost"] += self._losses.lost(residents, shadows)
        sampled = [Ghosts.sampled(*one) for one in zip(residents, fresh, strict=True)]
        self._ghosts = [
            old.and_these(new).after(instant) for old, new in zip(self._ghosts, sampled, strict=True)
        ]
        self._limit(most_ghosts(capacity))

    def _limit(self, most: int) -> None:
        """Bound the sample: halve the chance while it is too large, and double it when it is tiny."""
        while any(ghosts.count > most for ghosts in self._ghosts):
            self._ghosts = [ghosts.halved(self._draw()) for ghosts in self._ghosts]
            self._note["level"] += 1
        if self._note["level"] and all(ghosts.count < most // 8 for ghosts in self._ghosts):
            self._note["level"] -= 1

    def _draw(self) -> int:
        self._note["draws"] += 1
        return int(self._note["draws"])

    def close(self, store: Store) -> None:
        """Write the sample."""
        self._drop(store)
        if any(ghosts.count for ghosts in self._ghosts):
            self._note["ghosts"] = [store.put(ghosts.batch) for ghosts in self._ghosts]

    def clear(self, store: Store) -> None:
        """Drop the sample: the streams have ended."""
        self._drop(store)

    def _drop(self, store: Store) -> None:
        for name in self._note["ghosts"]:
            store.drop(name)
        self._note["ghosts"] = []


def _weights(residents: Residents, port: int, level: int) -> FloatArray:
    """The sampling weight of each tuple if it is shed: the inverse of its chance if it is drawn, else 0."""
    drawn = lots(residents.batch[ARRIVAL_NUMBER].to_numpy(), port, level)
    return np.where(drawn, 2.0**level, 0.0)


_RANK_BYTES = 8 * len(INTS + FLOATS)  # what shedding keeps of a tuple besides its tokens
_TOKEN_BYTES = 8
_WINDOWS_BETWEEN_POINTS = 16  # of the longest window, between two fixed points
_ASSUMED_BYTES = 32  # of a tuple's columns and tokens, before any has arrived


class WindowCapacity:
    """The capacity of the windows of one join; `note` is the part of the store's head where it is kept."""

    def __init__(self, node: LimitedNode, note: dict[str, Any]) -> None:
        self._limit, self._ports = node.memory, len(node.ports)
        windows = [node.star.items[number].window for number in node.star.streams]
        self.period = _WINDOWS_BETWEEN_POINTS * max(window for window in windows if window is not None)
        self._note = note
        if not note:
            nothing = [[0, 0] for _ in windows]
            note.update(point=None, seen=nothing, measured=self._tuples(nothing), granted=None, reached=None)

    @property
    def tuples(self) -> int:
        """How many tuples each window may hold."""
        measured: int = self._note["measured"]
        granted: int | None = self._note["granted"]
        return measured if granted is None else min(measured, granted)

    @property
    def most(self) -> int:
        """How many tuples all windows together may hold by the query's limit, without a grant."""
        return self._ports * int(self._note["measured"])

    def grant(self, tuples: int) -> None:
        """From a shared budget: all windows together may hold so many tuples, until the next grant."""
        self._note["granted"] = tuples // self._ports

    def reach(self, point: int) -> bool:
        """The shared budget reaches a fixed point; returns whether it is a new one."""
        new = self._note["reached"] is None or point > self._note["reached"]
        self._note["reached"] = point
        return new

    @property
    def varies(self) -> bool:
        """Whether the capacity changes at fixed points: the limit is in bytes."""
        return self._limit.bytes is not None

    def pass_point(self, instant: int) -> None:
        """Before the arrivals of an instant: measure again if a fixed point has been passed."""
        point = instant // self.period
        if self.varies and (self._note["point"] is None or point > self._note["point"]):
            self._note["point"] = point
            self._note["measured"] = self._tuples(self._note["seen"])

    def see(self, arrived: Sequence[ArrivedTuples]) -> None:
        """Count the bytes of arrivals."""
        if self.varies:
            for seen, stream in zip(self._note["seen"], arrived, strict=True):
                seen[0] += stream.batch.num_rows
                seen[1] += _bytes_of(stream)

    def _tuples(self, seen: Sequence[Sequence[int]]) -> int:
        """The capacity of each window, given (tuples, bytes) of what has arrived by each port."""
        if self._limit.tuples is not None:
            return self._limit.tuples // self._ports
        assert self._limit.bytes is not None
        each = sum(_RANK_BYTES + (size / count if count else _ASSUMED_BYTES) for count, size in seen)
        return int(self._limit.bytes / each)


def _bytes_of(arrived: ArrivedTuples) -> int:
    """The bytes of tuples as Arrow columns, and of their tokens."""
    tokens = int(arrived.arrivals.offsets[-1] - arrived.arrivals.offsets[0]) * _TOKEN_BYTES
    return tokens + sum(map(_column_bytes, arrived.batch.columns))


def _column_bytes(column: pa.Array) -> int:
    """The bytes of the values, independent of buffers and offsets."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return 4 * len(column) + int(pc.sum(pc.binary_length(column)).as_py() or 0)
    return int(np.ceil(len(column) * column.type.bit_width / 8))
