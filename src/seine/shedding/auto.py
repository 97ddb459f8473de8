"""AUTO: what is expected to gain least goes.

V(r) = what the arrivals of this very instant make with r, which is certain, plus what the next
ones are expected to make: the gain of one arrival (`rates.py`) times how many come while r is
still there, but no more than come in a tenth of its life. A longer horizon would hold on to young
tuples of little worth; it is not that long until something better needs their slot.

Priorities are calculated anew when a sixteenth as many tuples as are held have come; in between
they stand. So small windows are always up to date, and large ones cost little for each tuple.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from seine.shedding.arrivals import Floats
from seine.shedding.matches import Edges
from seine.shedding.policy import Groups, Policy, State, Tokens
from seine.shedding.rates import Rates
from seine.shedding.window import Window

_HORIZON = 10  # which part of a life is looked ahead
_OFTEN = 16  # priorities are renewed so many times while as many tuples come as are held
_PACE = 1600.0  # arrivals, over which it is learnt how fast they come


class Auto(Policy):
    """Expected gain over the near future; of equals the oldest goes. `matches` is the gain of one arrival."""

    watches = True

    def __init__(self, stream: int, edges: Edges) -> None:
        self._others = [tuple(other for other in edge if other != stream) for edge in edges]
        self._rates = {other: Rates() for edge in self._others for other in edge}
        self._coming: dict[int, list[tuple[Tokens, float]]] = {other: [] for other in self._rates}
        self._pending = 0
        self._now = 0
        self._present: dict[int, list[float]] = {}  # importances of the arrivals of this instant, by token
        self._groups: Sequence[Tokens] = ()
        self._passed = np.zeros(3)  # arrivals, the time that they took, and when they were counted

    def witness(self, stream: int, tokens: Tokens, importance: float, now: int) -> None:
        if stream in self._rates:
            if now != self._now:
                self._now, self._present = now, {}
            self._coming[stream].append((tokens, importance))
            self._pending += 1
            for token in tokens:
                self._present.setdefault(token, []).append(importance)

    def refresh(self, window: Window, groups: Groups, now: int) -> None:
        if now != self._now:
            self._now, self._present = now, {}
        self._groups = groups.tokens
        if self._pending * _OFTEN >= max(window.count, 1):
            self._learn(now)
            self._renew(window)

    def rank(self, window: Window, slot: int, tokens: Tokens, groups: Groups) -> None:
        importance = window.importance.item(slot)
        window.matches[slot] = sum(
            self._rates[other].gain(token, importance)
            for token in tokens
            for other in self._others[token % len(self._others)]
        )
        window.priority[slot] = self._worth(window, slice(slot, slot + 1))[0]

    def victims(self, window: Window, count: int) -> list[int]:
        """Those of the lowest priority, where what matches an arrival of this instant has that on top."""
        if not self._present:
            return super().victims(window, count)
        priority = window.priority[: window.count]
        saved = priority.copy()
        found: list[int] = []
        looked: set[int] = set()
        while len(found) < count:
            slot = self._lowest(window, priority)
            certain = 0.0 if slot in looked else self._certain(window, slot)
            if certain:
                looked.add(slot)
                priority[slot] += certain
            else:
                found.append(slot)
                priority[slot] = np.inf
        priority[:] = saved
        return found

    def _certain(self, window: Window, slot: int) -> float:
        """What the arrivals of this instant make with a tuple if it stays."""
        importance = window.importance.item(slot)
        tokens = self._groups[window.group.item(slot)]
        return sum(min(importance, other) for token in tokens for other in self._present.get(token, ()))

    def _learn(self, now: int) -> None:
        fade = float(np.exp(-self._pending / _PACE))
        elapsed = now - self._passed[2] if self._passed[0] else 0.0
        self._passed[:] = self._passed[0] * fade + self._pending, self._passed[1] * fade + elapsed, now
        self._pending = 0
        for other, coming in self._coming.items():
            if coming:
                self._rates[other].learn(coming)
                coming.clear()

    def _renew(self, window: Window) -> None:
        held = slice(0, window.count)
        tokens = [self._groups[group] for group in window.group[held].tolist()]
        owners = np.repeat(np.arange(window.count), [len(some) for some in tokens])
        flat = [token for some in tokens for token in some]
        window.matches[held] = 0.0
        for other, rates in self._rates.items():
            mine = [n for n, token in enumerate(flat) if other in self._others[token % len(self._others)]]
            carried = [flat[n] for n in mine]
            gains = rates.gains(carried, window.importance[owners[mine]])
            window.matches[held] += np.bincount(owners[mine], gains, window.count)
            rates.forget(set(carried))
        window.priority[held] = self._worth(window, held)

    def _worth(self, window: Window, slots: slice) -> Floats:
        """The gain of one arrival times how many are expected within the horizon."""
        pace = self._passed[0] / self._passed[1] if self._passed[1] else 1.0
        left = (window.leaves[slots] - self._now).astype(float)
        life = (window.expiry[slots] - window.ts[slots]).astype(float)
        worth: Floats = window.matches[slots] * np.minimum(
            left * pace, np.maximum(life * pace / _HORIZON, 1.0)
        )
        return worth

    def state(self) -> State:
        found = {"passed": self._passed.copy(), "now": np.array([self._now], np.int64)}
        for other, rates in self._rates.items():
            coming = self._coming[other]
            found[f"{other}.ends"] = np.cumsum([0, *(len(tokens) for tokens, _ in coming)])
            found[f"{other}.coming"] = np.array([t for tokens, _ in coming for t in tokens], np.int64)
            found[f"{other}.importances"] = np.array([importance for _, importance in coming])
            found |= {f"{other}.rates.{name}": values for name, values in rates.state().items()}
        return found

    def restore(self, state: State) -> None:
        self._passed, self._now = state["passed"].copy(), int(state["now"][0])
        self._pending = 0
        for other, rates in self._rates.items():
            tokens, importances = state[f"{other}.coming"].tolist(), state[f"{other}.importances"].tolist()
            ends = pairwise(state[f"{other}.ends"].tolist())
            coming = [tuple(tokens[begin:end]) for begin, end in ends]
            self._coming[other] = list(zip(coming, importances, strict=True))
            self._pending += len(coming)
            prefix = f"{other}.rates."
            rates.restore({n.removeprefix(prefix): v for n, v in state.items() if n.startswith(prefix)})
