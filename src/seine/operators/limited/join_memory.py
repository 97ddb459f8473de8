"""The state of a memory-limited join: the windows' tuples, their ranks, the capacity and the metrics.

head["memory"]   held: [{run, rows} | None per port]   ranks: run   capacity: {..}   account: {..}
                         |                               |
store            tuples held in each window     the shedder's state, one row of lists
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from seine.algebra.memory_limit import MemoryLimit
from seine.operators.limited.account import Account
from seine.operators.limited.losses import Losses
from seine.operators.limited.residents import ArrivedTuples, Residents
from seine.operators.limited.window_capacity import WindowCapacity
from seine.operators.state.store import Store
from seine.rows.delta import FOREVER
from seine.shedding.policies import DEFAULT_BETA, Shedding
from seine.shedding.shedder import Shedder

if TYPE_CHECKING:
    from seine.operators.limited.limited_node import LimitedNode


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
