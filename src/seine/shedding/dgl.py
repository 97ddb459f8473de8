"""DGL: a priority that gains with every output and loses in every instant without one."""

from __future__ import annotations

import numpy as np

from seine.shedding.policy import Groups
from seine.shedding.simpprob import SimpProb
from seine.shedding.window import Window


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

    def refresh(self, window: Window, groups: Groups, now: int) -> None:
        slots = slice(0, window.count)
        gained = np.zeros(len(groups.matches), bool)
        gained[list(groups.fresh)] = True
        group = window.group[slots]
        window.matches[slots] = groups.matches[group]
        priority = window.priority[slots]
        gains = gained[group]
        priority -= np.where(gains, 0.0, self._beta)
        np.maximum(priority, 0.0, out=priority)
        winners = np.flatnonzero(gains)
        if len(winners):
            left = (window.expiry[winners] - now) / self._scale(window, winners)
            priority[winners] += window.importance[winners] * window.matches[winners] * left

    def _scale(self, window: Window, slots: np.ndarray) -> float | np.ndarray:
        if self._alpha is not None:
            return self._alpha
        life: np.ndarray = window.expiry[slots] - window.ts[slots]
        return life
