"""What every way of shedding has in common: it ranks the tuples of a window, and the lowest go.

At an instant, after what expired has left, a policy is shown the arrivals of the other streams
(`witness`) and what is held (`refresh`), then it gives each arrival of its own stream a
priority (`rank`), and at last names those that must go (`victims`). Whatever it keeps between
instants is in the columns of the window or in its `state`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from seine.algebra.arrays import IntArray
from seine.shedding.arrivals import Floats
from seine.shedding.window import Window

State = dict[str, IntArray]
Tokens = tuple[int, ...]


@dataclass(frozen=True)
class TokenGroups:
    """The groups of a stream by number: their matches in the other windows, and what this instant added."""

    matches: Floats
    fresh: Mapping[int, int]


class Policy:
    """The frame of a policy, for one stream: by itself, it drops the oldest."""

    ties: tuple[str, ...] = ("number",)  # columns that decide between equal priorities, first things first
    counts_matches = False  # whether it needs groups and their matches
    watches = False  # whether it looks at arrivals of the other streams, and at instants

    def witness(self, stream: int, tokens: Tokens, importance: float, now: int) -> None:
        """See an arrival of another stream at this instant."""

    def refresh(self, window: Window, groups: TokenGroups, now: int) -> None:
        """Look at the tuples held."""

    def rank(self, window: Window, slot: int, groups: TokenGroups) -> None:
        """Give an arrival its priority."""

    def victims(self, window: Window, count: int) -> list[int]:
        """The slots of `count` tuples that must go: those with the lowest priority, then by `ties`."""
        priority = window.priority[: window.count]
        if count == 1:
            return [self._lowest(window, priority)]
        bound = np.partition(priority, count - 1)[count - 1]
        below, equal = np.flatnonzero(priority < bound), np.flatnonzero(priority == bound)
        order = np.lexsort([getattr(window, name)[equal] for name in self.ties[::-1]])
        found: list[int] = [*below.tolist(), *equal[order[: count - len(below)]].tolist()]
        return found

    def _lowest(self, window: Window, priority: Floats) -> int:
        slots = (priority == priority[priority.argmin()]).nonzero()[0]
        for name in self.ties:
            if len(slots) > 1:
                values = getattr(window, name)[slots]
                slots = slots[values == values[values.argmin()]]
        return int(slots[0])

    def end(self) -> None:
        """The instant is over."""

    def state(self) -> State:
        """What must survive besides the columns of the window."""
        return {}

    def restore(self, state: State) -> None:
        """Take up a state."""
