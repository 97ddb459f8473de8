"""The policy DGL: a priority that grows with every result and decays at every instant without one."""

from __future__ import annotations

import numpy as np

from seine.algebra.arrays import IntArray
from seine.shedding.policy import TokenGroups
from seine.shedding.simpprob import SimpProb
from seine.shedding.window import Window

_LONGEST_LIFETIME = np.finfo(float).max  # a finite bound of lifetimes left: 0 times it is 0


class Dgl(SimpProb):
    """P(r) starts as in SIMPPROB. At each later instant t it gains r.imp * mn(r) * (expr(r) - t) / alpha
    if an arrival of the instant makes output with r, and else loses beta, but is never below 0.
    Ties as in SIMPPROB.

    Without an alpha, the life left is measured as a share of the tuple's whole life.

    Cites: STAR 3.2 (Dynamic Gain Loss)
    Differs: only instants with arrivals count, so that beta does not depend on the unit of time.
    """

    watches = True

    def __init__(self, alpha: float | None, beta: float) -> None:
        self._alpha = alpha
        self._beta = beta

    def refresh(self, window: Window, groups: TokenGroups, now: int) -> None:
        slots = slice(0, window.count)
        group, priority = window.group[slots], window.priority[slots]
        window.matches[slots] = groups.matches[group]
        winners = self._winners(group, groups)
        before = priority[winners]
        priority -= self._beta
        np.maximum(priority, 0.0, out=priority)
        if len(winners):
            left = (window.expiry[winners] - now) / self._scale(window, winners)
            left = np.minimum(left, _LONGEST_LIFETIME)
            priority[winners] = before + window.importance[winners] * window.matches[winners] * left

    def _winners(self, group: IntArray, groups: TokenGroups) -> IntArray:
        """The slots of tuples with which an arrival of this instant makes results."""
        if not groups.fresh:
            return np.zeros(0, np.int64)
        if len(groups.fresh) == 1:
            return np.flatnonzero(group == next(iter(groups.fresh)))
        gained = np.zeros(len(groups.matches), bool)
        gained[list(groups.fresh)] = True
        return np.flatnonzero(gained[group])

    def _scale(self, window: Window, slots: IntArray) -> float | IntArray:
        if self._alpha is not None:
            return self._alpha
        life: IntArray = window.expiry[slots] - window.ts[slots]
        return life
