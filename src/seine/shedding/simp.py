"""The policy SIMP: evicts the least important tuple."""

from __future__ import annotations

from seine.shedding.policy import Policy, TokenGroups
from seine.shedding.window import Window


class Simp(Policy):
    """P(r) = r.imp; of equals the oldest is evicted.

    Cites: STAR 3.2 (Static Importance)
    """

    def rank(self, window: Window, slot: int, groups: TokenGroups) -> None:
        window.priority[slot] = window.importance[slot]
