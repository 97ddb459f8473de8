"""SIMP: the least important tuple goes."""

from __future__ import annotations

from seine.shedding.arrivals import Arrivals, Floats
from seine.shedding.policy import Policy
from seine.shedding.window import Window


class Simp(Policy):
    """P(r) = r.imp; of equals the oldest goes.

    Cites: STAR 3.2 (Static Importance)
    """

    def rank(self, window: Window, first: int, arrivals: Arrivals, matches: Floats) -> None:
        window.priority[first : window.count] = arrivals.importance
