"""What a join within a memory keeps between steps: the tuples that are held, and how they rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.memory import MemoryLimit
from seine.network.nodes import LimitedNode
from seine.operators.delta import FOREVER
from seine.operators.star.residents import Arrived, Residents, most_held
from seine.operators.store import Store
from seine.shedding.policies import DEFAULT_BETA, Shedding
from seine.shedding.shedder import Shedder


class Memory:
    """The windows of one join; `open` reads them, `close` makes them durable."""

    def __init__(self, node: LimitedNode, store: Store) -> None:
        self._node, self._store = node, store
        empty = {"held": [None] * len(node.ports), "ranks": None, "shed": 0, "peak": 0}
        self._head: dict[str, Any] = store.head.setdefault("memory", empty)

    @property
    def rows(self) -> int:
        return sum(run["rows"] for run in self._head["held"] if run)

    @property
    def account(self) -> dict[str, int]:
        """Tuples shed so far, and the most that were held at once."""
        return {"shed": self._head["shed"], "peak": self._head["peak"]}

    @property
    def capacity(self) -> int:
        """What the window of each stream may hold."""
        return share_of(self._node.memory, len(self._node.ports))

    def open(self, empty: Sequence[pa.RecordBatch]) -> None:
        """Take up what is held; windows that hold nothing are like the empty batches."""
        self._held = [
            none if run is None else self._store.get(run["run"])
            for run, none in zip(self._head["held"], empty, strict=True)
        ]
        edges = tuple(edge.ports for edge in self._node.star.edges)
        self._shedder = Shedder(shedding_of(self._node.memory), self.capacity, len(self._held), edges)
        if self._head["ranks"] is not None:
            self._shedder.load(self._store.get(self._head["ranks"]))

    def admit(self, new: Sequence[Arrived]) -> list[Residents]:
        """Let arrivals of complete instants in, or turn them away, or others out."""
        evicted = self._shedder.step([some.arrivals for some in new])
        residents = [
            Residents.of(held, some.batch, gone)
            for held, some, gone in zip(self._held, new, evicted, strict=True)
        ]
        self._head["shed"] += sum(len(gone.number) for gone in evicted)
        self._head["peak"] = max(self._head["peak"], most_held(residents))
        return residents

    def keep(self, residents: Sequence[Residents], instant: int) -> None:
        """Hold what is to be held after an instant."""
        self._held = [some.after(instant) for some in residents]

    def close(self, horizon: int) -> None:
        """Make durable what is held when all instants before the horizon are over."""
        self._shedder.leave(horizon)
        ended = [Residents(held, 0, np.full(held.num_rows, FOREVER)).after(horizon) for held in self._held]
        self._drop()
        self._head["ranks"] = self._store.put(self._shedder.save())
        self._head["held"] = [self._put(held) for held in ended]

    def clear(self) -> None:
        """Nothing comes any more."""
        self._drop()
        self._head["held"], self._head["ranks"] = [None] * len(self._node.ports), None

    def _put(self, held: pa.RecordBatch) -> dict[str, Any] | None:
        return {"run": self._store.put(held), "rows": held.num_rows} if held.num_rows else None

    def _drop(self) -> None:
        runs = [run["run"] for run in self._head["held"] if run]
        for name in [*runs, *([self._head["ranks"]] if self._head["ranks"] else [])]:
            self._store.drop(name)


def share_of(limit: MemoryLimit, streams: int) -> int:
    """The tuples that each of some streams may hold: equal shares, rounded down."""
    assert limit.tuples is not None
    return limit.tuples // streams


def shedding_of(limit: MemoryLimit) -> Shedding:
    beta = DEFAULT_BETA if limit.beta is None else limit.beta
    return Shedding(limit.shed, limit.alpha, beta, limit.seed, limit.importance)
