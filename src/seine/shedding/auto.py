"""The policy AUTO: evicts the tuple with the least expected gain over the near future.

Law: the priority of r is the importance of the results that the arrivals of this very instant make with r,
which is certain, plus what the next arrivals are expected to make: the expected gain of one arrival
(`rates.py`) times how many come while r is in the window, but no more than come in a tenth of its lifetime. A
longer horizon would hold on to young tuples of little worth: something better needs their slot before that.
Time is in whole units, so what comes later than now and before r leaves comes in `leaves - now - 1` of them:
a tuple in its last instant expects nothing more.

Expected gains are recalculated when a quarter as many tuples of the other streams have arrived as are held,
the time that is left when there were as many instants and own arrivals. So small windows are always up to
date, and large windows cost little for each tuple.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from operator import add, mul

import numpy as np

from seine.algebra.arrays import FloatArray, IntArray
from seine.shedding.matches import Edges, others_on
from seine.shedding.policy import Policy, State, TokenGroups, Tokens
from seine.shedding.rates import MOST_IMPORTANCE, Rates
from seine.shedding.window import Window

_LIFETIME_PER_HORIZON = 10  # the horizon is this part of a lifetime
_RENEWALS_PER_WINDOW = 4  # times that gains are renewed while as many tuples arrive as are held
_PACE_MEMORY = 1600.0  # arrivals over which the arrival rate is averaged
_RESULTS: dict[str, Callable[[float, float], float]] = {"min": min, "sum": add, "product": mul}


class Auto(Policy):
    """Expected gain over the near future; of equals the oldest is evicted.

    In the window, `matches` is the expected gain of one arrival.
    """

    watches = True

    def __init__(self, stream: int, edges: Edges, combine: str = "min") -> None:
        self._result = _RESULTS[combine]
        self._others = others_on(edges, stream)
        self._rates = {other: Rates(combine) for edge in self._others for other in edge}
        self._coming: dict[int, list[tuple[Tokens, float]]] = {other: [] for other in self._rates}
        self._pending = 0
        self._events = 0  # instants and arrivals of the own stream since priorities were renewed
        self._now = 0
        self._present: dict[int, list[float]] = {}  # importances of the arrivals of this instant, by token
        self._passed = np.zeros(3)  # decayed: arrivals, the time they took; and when they were counted last
        self._pace = 1.0  # the arrival rate: arrivals in a unit of time

    def observe(self, stream: int, tokens: Tokens, importance: float, now: int) -> None:
        if stream in self._rates:
            self._coming[stream].append((tokens, min(importance, MOST_IMPORTANCE)))
            self._pending += 1
            for token in tokens:
                self._present.setdefault(token, []).append(min(importance, MOST_IMPORTANCE))

    def refresh(self, window: Window, groups: TokenGroups, now: int) -> None:
        self._now = now
        self._events += 1
        if self._pending * _RENEWALS_PER_WINDOW >= max(window.count, 1):
            self._learn(now)
            self._renew_gains(window)
        elif self._events * _RENEWALS_PER_WINDOW < window.count:
            return
        self._renew_priorities(window)

    def rank(self, window: Window, slot: int, groups: TokenGroups) -> None:
        importance, gain = min(window.importance.item(slot), MOST_IMPORTANCE), 0.0
        for token in window.tokens[slot]:
            for other in self._others[token % len(self._others)]:
                gain += self._rates[other].gain(token, importance)
        now, pace = self._now, self._pace
        horizon = max((window.expiry.item(slot) - now) / _LIFETIME_PER_HORIZON, 1.0 / pace)
        left = min(window.leaves.item(slot) - now - 1, horizon)
        self._events += 1
        window.matches[slot], window.priority[slot] = gain, gain * left * pace

    def victims(self, window: Window, count: int) -> list[int]:
        """The slots of the lowest priorities, after the certain gain of this instant is added."""
        if not self._present:
            return super().victims(window, count)
        priority = window.priority[: window.count]
        if count * 8 <= window.count:
            return self._one_by_one(window, priority, count)
        before = priority.copy()
        priority += [self._certain(window, slot) for slot in range(window.count)]
        slots = super().victims(window, count)
        priority[:] = before
        return slots

    def end(self) -> None:
        if self._present:
            self._present = {}

    def _one_by_one(self, window: Window, priority: FloatArray, count: int) -> list[int]:
        """The victims; the certain gain is computed only of slots that come out lowest."""
        slots: list[int] = []
        before: dict[int, float] = {}  # the priorities of slots that were evaluated
        while len(slots) < count:
            slot = self._lowest(window, priority)
            certain = 0.0 if slot in before else self._certain(window, slot)
            before.setdefault(slot, priority.item(slot))
            if certain:
                priority[slot] += certain
            else:
                slots.append(slot)
                priority[slot] = np.inf
        for slot, value in before.items():
            priority[slot] = value
        return slots

    def _certain(self, window: Window, slot: int) -> float:
        """The importance of the results that the arrivals of this instant make with a tuple if it stays."""
        certain, present = 0.0, self._present
        for token in window.tokens[slot]:
            if others := present.get(token):
                importance = min(window.importance.item(slot), MOST_IMPORTANCE)
                certain += sum(self._result(importance, other) for other in others)
        return certain

    def _learn(self, now: int) -> None:
        """Update the arrival rate and the rates of tokens by the arrivals since the last time."""
        fade = float(np.exp(-self._pending / _PACE_MEMORY))
        elapsed = now - self._passed[2] if self._passed[0] else 0.0
        self._passed[:] = self._passed[0] * fade + self._pending, self._passed[1] * fade + elapsed, now
        self._settle_pace()
        self._pending = 0
        for other, coming in self._coming.items():
            if coming:
                self._rates[other].learn(coming)
                coming.clear()

    def _renew_gains(self, window: Window) -> None:
        """Recalculate the expected gain of an arrival with each tuple that is held."""
        held = slice(0, window.count)
        owners = np.repeat(np.arange(window.count), [len(tokens) for tokens in window.tokens])
        carried = [token for tokens in window.tokens for token in tokens]
        window.matches[held] = sum(
            np.bincount(
                *self._gains(other, carried, owners, np.minimum(window.importance[held], MOST_IMPORTANCE)),
                window.count,
            )
            for other in self._rates
        )

    def _renew_priorities(self, window: Window) -> None:
        """Recalculate the priorities of all tuples that are held, by the time that each has left."""
        self._events = 0
        held = slice(0, window.count)
        life = (window.expiry[held] - window.ts[held]).astype(float)
        left = (window.leaves[held] - self._now - 1).astype(float)
        horizon = np.maximum(life / _LIFETIME_PER_HORIZON, 1.0 / self._pace)
        window.priority[held] = window.matches[held] * np.minimum(left, horizon) * self._pace

    def _gains(
        self, other: int, tokens: list[int], owners: IntArray, importances: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        """The slot of each token, and the expected gain of the next arrival of another stream through it."""
        rates = self._rates[other]
        if len(self._others) > 1:
            edges = [n for n, edge in enumerate(self._others) if other in edge]
            mine = np.flatnonzero(np.isin(np.array(tokens, np.int64) % len(self._others), edges))
            tokens, owners = [tokens[n] for n in mine.tolist()], owners[mine]
        if rates.crowded:
            rates.forget(set(tokens))
        return owners, rates.gains(tokens, importances[owners])

    def _settle_pace(self) -> None:
        """Derive the arrival rate from what has passed."""
        self._pace = float(self._passed[0] / self._passed[1]) if self._passed[1] else 1.0

    def state(self) -> State:
        columns: State = {"passed": self._passed.copy(), "now": np.array([self._now, self._events], np.int64)}
        for other, rates in self._rates.items():
            coming = self._coming[other]
            columns[f"{other}.ends"] = np.cumsum([0, *(len(tokens) for tokens, _ in coming)])
            columns[f"{other}.coming"] = np.array([t for tokens, _ in coming for t in tokens], np.int64)
            columns[f"{other}.importances"] = np.array([importance for _, importance in coming])
            columns |= {f"{other}.rates.{name}": values for name, values in rates.state().items()}
        return columns

    def restore(self, state: State) -> None:
        self._passed = state["passed"].copy()
        self._settle_pace()
        self._now, self._events = state["now"].tolist()
        self._pending = 0
        for other, rates in self._rates.items():
            tokens, importances = state[f"{other}.coming"].tolist(), state[f"{other}.importances"].tolist()
            ends = pairwise(state[f"{other}.ends"].tolist())
            coming = [tuple(tokens[begin:end]) for begin, end in ends]
            self._coming[other] = list(zip(coming, importances, strict=True))
            self._pending += len(coming)
            prefix = f"{other}.rates."
            rates.restore({n.removeprefix(prefix): v for n, v in state.items() if n.startswith(prefix)})
