"""DIMPPROB: importance times matches in the opposite window, as they are now."""

from __future__ import annotations

from seine.shedding.arrivals import Floats
from seine.shedding.simpprob import SimpProb
from seine.shedding.window import Window


class DimpProb(SimpProb):
    """P(r) = r.imp * mn(r), calculated anew at each instant; ties as in SIMPPROB.

    Cites: STAR 3.2 (Dynamic Importance Probability)
    """

    def refresh(self, window: Window, count: int, matches: Floats, fresh: dict[int, int], now: int) -> None:
        slots = slice(0, count)
        window.matches[slots] = matches[window.group[slots]]
        window.priority[slots] = window.importance[slots] * window.matches[slots]
