"""What every way of shedding has in common: it ranks the tuples of a window, and the lowest go.

At an instant, after what expired has left and before anything is admitted, a policy is shown the
arrivals of the other streams (`witness`) and what is held (`refresh`), then it gives the arrivals of
its own stream their priority (`rank`), and at last names those that must go (`victims`).
Whatever it keeps between instants is in the columns of the window or in its `state`.
"""

from __future__ import annotations

import numpy as np

from seine.shedding.arrivals import Arrivals, Floats
from seine.shedding.window import Window

State = dict[str, np.ndarray]


class Policy:
    """The frame of a policy, for one stream: by itself, it drops the oldest."""

    counts_matches = False  # whether `matches` are kept up to date for it

    def witness(self, stream: int, arrivals: Arrivals) -> None:
        """See the arrivals of another stream at this instant."""

    def refresh(self, window: Window, count: int, matches: Floats, fresh: dict[int, int], now: int) -> None:
        """Look at the tuples held; by group: all matches, and those that this instant added."""

    def rank(self, window: Window, first: int, arrivals: Arrivals, matches: Floats) -> None:
        """Give the arrivals, in the slots from `first` on, their priority."""

    def victims(self, window: Window, count: int) -> list[int]:
        """The slots of `count` tuples that must go: those with the lowest priority, then by `ties`."""
        priority = window.priority[: window.count]
        if count == 1:
            lowest = np.flatnonzero(priority == priority.min())
        else:
            lowest = np.flatnonzero(priority <= np.partition(priority, count - 1)[count - 1])
        if len(lowest) > count:
            order = np.lexsort((*self.ties(window, lowest)[::-1], priority[lowest]))
            lowest = lowest[order[:count]]
        found: list[int] = lowest.tolist()
        return found

    def ties(self, window: Window, slots: np.ndarray) -> tuple[np.ndarray, ...]:
        """What decides between equal priorities, first things first: lower goes."""
        return (window.number[slots],)

    def state(self) -> State:
        """What must survive besides the columns of the window."""
        return {}

    def restore(self, state: State) -> None:
        """Take up a state."""
