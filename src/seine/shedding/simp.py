"""SIMP: the least important tuple goes."""

from __future__ import annotations

from seine.shedding.policy import Groups, Policy
from seine.shedding.window import Window


class Simp(Policy):
    """P(r) = r.imp; of equals the oldest goes.

    Cites: STAR 3.2 (Static Importance)
    """

    def rank(self, window: Window, slot: int, groups: Groups) -> None:
        window.priority[slot] = window.importance[slot]
