"""The interface of an eviction policy: it ranks the tuples of a window, and the lowest are evicted.

At an instant, after what expired has left, a policy is called in this order:

    observe   each arrival of the other streams
    refresh   the window: update priorities of what is held
    rank      each arrival of its stream: set its priority
    victims   the slots to be evicted
    end       the instant is over

What it keeps between instants is in the columns of the window or in its `state`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from seine.algebra.arrays import AnyArray, FloatArray
from seine.shedding.window import Window

State = dict[str, AnyArray]
Tokens = tuple[int, ...]


@dataclass(frozen=True)
class TokenGroups:
    """The groups of a stream: their matches in the other windows, and what this instant added, by number."""

    matches: FloatArray
    fresh: Mapping[int, int]


class Policy:
    """The base of policies, for the window of one stream; as it is, it evicts the oldest."""

    ties: tuple[str, ...] = ("number",)  # columns that decide between equal priorities, the first one first
    counts_matches = False  # whether it needs groups and their match counts
    watches = False  # whether it needs `observe` and `refresh`

    def observe(self, stream: int, tokens: Tokens, importance: float, now: int) -> None:
        """An arrival of another stream at this instant."""

    def refresh(self, window: Window, groups: TokenGroups, now: int) -> None:
        """Update the priorities of the tuples that are held."""

    def rank(self, window: Window, slot: int, groups: TokenGroups) -> None:
        """Set the priority of an arrival, which has a slot already."""

    def victims(self, window: Window, count: int) -> list[int]:
        """The slots of `count` tuples to be evicted: those with the lowest priority, then by `ties`."""
        priority = window.priority[: window.count]
        if count == 1:
            return [self._lowest(window, priority)]
        bound = np.partition(priority, count - 1)[count - 1]
        below, equal = np.flatnonzero(priority < bound), np.flatnonzero(priority == bound)
        order = np.lexsort([getattr(window, name)[equal] for name in self.ties[::-1]])
        slots: list[int] = [*below.tolist(), *equal[order[: count - len(below)]].tolist()]
        return slots

    def _lowest(self, window: Window, priority: FloatArray) -> int:
        """The slot with the lowest priority, then by `ties`."""
        slots = (priority == priority[priority.argmin()]).nonzero()[0]
        if len(slots) == 1:
            return int(slots[0])
        for name in self.ties:
            if len(slots) > 1:
                values = getattr(window, name)[slots]
                slots = slots[values == values[values.argmin()]]
        return int(slots[0])

    def end(self) -> None:
        """The instant is over."""

    def state(self) -> State:
        """What must be saved besides the columns of the window."""
        return {}

    def restore(self, state: State) -> None:
        """Load a saved state."""
