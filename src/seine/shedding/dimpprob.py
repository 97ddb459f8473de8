"""The policy DIMPPROB: importance times the current number of matches in the opposite window."""

from __future__ import annotations

from seine.shedding.policy import TokenGroups
from seine.shedding.simpprob import SimpProb
from seine.shedding.window import Window


class DimpProb(SimpProb):
    """P(r) = r.imp * mn(r), recalculated at each instant; ties as in SIMPPROB.

    Cites: STAR 3.2 (Dynamic Importance Probability)
    """

    watches = True

    def refresh(self, window: Window, groups: TokenGroups, now: int) -> None:
        slots = slice(0, window.count)
        window.matches[slots] = groups.matches[window.group[slots]]
        window.priority[slots] = window.importance[slots] * window.matches[slots]
