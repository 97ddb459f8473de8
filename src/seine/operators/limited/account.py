"""The account of a join within a memory: what it shed, held, told, and is likely to have lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from seine.operators.limited.losses import Losses, Shadows
from seine.operators.limited.memory_account import MemoryAccount
from seine.operators.limited.residents import Residents, most_held
from seine.operators.limited.shed_sample import Ghosts, lots, most_ghosts
from seine.operators.state.store import Store
from seine.rows.delta import NUMBER


class Account:
    """Counts that last, and the sample of shed tuples; `note` is part of a head."""

    def __init__(self, note: dict[str, Any], losses: Losses) -> None:
        if not note:
            note.update(shed=0, peak=0, told=0.0, since=0.0, lost=0.0, level=0, draws=0, ghosts=[])
        self._note, self._losses = note, losses
        self._ghosts: list[Ghosts] = []

    def summary(self) -> MemoryAccount:
        """What it has come to so far."""
        note = self._note
        return MemoryAccount(note["shed"], note["peak"], float(note["told"]), float(note["lost"]))

    def open(self, store: Store) -> None:
        self._ghosts = [Ghosts(store.get(name)) for name in self._note["ghosts"]]

    def tell(self, importance: float) -> None:
        self._note["told"] += importance

    def told_since(self) -> float:
        """The importance told since this was asked last; nothing once products are beyond all numbers."""
        more = self._note["told"] - self._note["since"]
        self._note["since"] = self._note["told"]
        return float(more) if math.isfinite(more) else 0.0

    def count(self, residents: Sequence[Residents], shed: int, capacity: int, instant: int) -> None:
        """A slice is over that sheds some tuples; its last instant is given."""
        note = self._note
        note["shed"] += shed
        note["peak"] = max(note["peak"], most_held(residents))
        if not shed and not any(ghosts.count for ghosts in self._ghosts):
            return
        fresh = [_weights(some, port, note["level"]) for port, some in enumerate(residents)]
        if not self._ghosts:
            self._ghosts = [Ghosts.none(some) for some in residents]
        shadows = [Shadows.of(*one) for one in zip(residents, self._ghosts, fresh, strict=True)]
        note["lost"] += self._losses.lost(residents, shadows)
        sampled = [Ghosts.sampled(*one) for one in zip(residents, fresh, strict=True)]
        self._ghosts = [
            old.and_these(new).after(instant) for old, new in zip(self._ghosts, sampled, strict=True)
        ]
        self._limit(most_ghosts(capacity))

    def _limit(self, most: int) -> None:
        """Keep the sample small: when it is too large, fewer are drawn, and when it is tiny, more."""
        while any(ghosts.count > most for ghosts in self._ghosts):
            self._ghosts = [ghosts.halved(self._draw()) for ghosts in self._ghosts]
            self._note["level"] += 1
        if self._note["level"] and all(ghosts.count < most // 8 for ghosts in self._ghosts):
            self._note["level"] -= 1

    def _draw(self) -> int:
        self._note["draws"] += 1
        return int(self._note["draws"])

    def close(self, store: Store) -> None:
        self._drop(store)
        if any(ghosts.count for ghosts in self._ghosts):
            self._note["ghosts"] = [store.put(ghosts.batch) for ghosts in self._ghosts]

    def clear(self, store: Store) -> None:
        """Nothing comes any more."""
        self._drop(store)

    def _drop(self, store: Store) -> None:
        for name in self._note["ghosts"]:
            store.drop(name)
        self._note["ghosts"] = []


def _weights(residents: Residents, port: int, level: int) -> np.ndarray:
    """What each tuple weighs when it is shed: the inverse of its chance if it is drawn, else nothing."""
    drawn = lots(residents.batch[NUMBER].to_numpy(), port, level)
    return np.where(drawn, 2.0**level, 0.0)
