"""Metrics of a memory-limited join: tuples shed, tuples held, importance delivered and, estimated, lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from seine.algebra.arrays import FloatArray
from seine.operators.limited.losses import Losses, Shadows
from seine.operators.limited.memory_account import MemoryAccount
from seine.operators.limited.residents import Residents, most_held
from seine.operators.limited.shed_sample import Ghosts, lots, most_ghosts
from seine.operators.state.store import Store
from seine.rows.delta import ARRIVAL_NUMBER


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
