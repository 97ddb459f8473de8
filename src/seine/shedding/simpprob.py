"""The policy SIMPPROB: importance times the matches in the opposite window when the tuple arrived."""

from __future__ import annotations

from seine.shedding.policy import Policy, TokenGroups
from seine.shedding.window import Window


class SimpProb(Policy):
    """P(r) = r.imp * mn(r) at arrival; of equals the least important, then the one with the fewest
    matches, then the oldest is evicted.

    Cites: STAR 3.2 (Static Importance Probability)
    """

    ties = ("importance", "matches", "number")
    counts_matches = True

    def rank(self, window: Window, slot: int, groups: TokenGroups) -> None:
        window.matches[slot] = matches = groups.matches[window.group[slot]]
        window.priority[slot] = window.importance[slot] * matches
