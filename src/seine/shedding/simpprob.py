"""SIMPPROB: importance times matches in the opposite window, as they were when the tuple came."""

from __future__ import annotations

import numpy as np

from seine.shedding.arrivals import Arrivals, Floats
from seine.shedding.policy import Policy
from seine.shedding.window import Window


class SimpProb(Policy):
    """P(r) = r.imp * mn(r) at arrival; of equals the least important, then the one with the fewest
    matches, then the oldest goes.

    Cites: STAR 3.2 (Static Importance Probability)
    """

    counts_matches = True

    def rank(self, window: Window, first: int, arrivals: Arrivals, matches: Floats) -> None:
        slots = slice(first, window.count)
        window.matches[slots] = matches[window.group[slots]]
        window.priority[slots] = arrivals.importance * window.matches[slots]

    def ties(self, window: Window, slots: np.ndarray) -> tuple[np.ndarray, ...]:
        return window.importance[slots], window.matches[slots], window.number[slots]
