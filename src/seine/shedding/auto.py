"""The policy AUTO: evicts the tuple with the least expected gain over the near future.

Law: the priority of r is the importance of the results that the arrivals of this very instant make with r,
which is certain, plus what the next arrivals are expected to make: the expected gain of one arrival
(below) times how many come while r is in the window, but no more than come in a tenth of its lifetime. A
longer horizon would hold on to young tuples of little worth: something better needs their slot before that.
Time is in whole units, so what comes later than now and before r leaves comes in `leaves - now - 1` of them:
a tuple in its last instant expects nothing more.

Expected gains are recalculated when a quarter as many tuples of the other streams have arrived as are held,
the time that is left when there were as many instants and own arrivals. So small windows are always up to
date, and large windows cost little for each tuple.

An online predictor of one stream: the probability that its next arrival has a token, and its importance.

Probability: five exponentially decayed frequency counts of tokens, with memories from 100 to 25,600 arrivals,
are mixed by exponential weights: each memory is judged by the likelihood that it gave to the recent arrivals.
So a stream that drifts is followed, and of one that does not much is remembered.

Importance: the mean of the token's importances times a random ratio, drawn from the ratios of recent arrivals
of all tokens. If importance is a function of the token all ratios are 1; if it is independent of it, the
ratios are its whole distribution.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate, pairwise
from operator import add, mul

import numpy as np

from seine.algebra.arrays import FloatArray, IntArray
from seine.shedding.exact import COMBINATIONS
from seine.shedding.matches import Edges, others_on
from seine.shedding.policy import Policy, State, TokenGroups, Tokens, Window

_LIFETIME_PER_HORIZON = 10  # the horizon is this part of a lifetime
_RENEWALS_PER_WINDOW = 4  # times that gains are renewed while as many tuples arrive as are held
_PACE_MEMORY = 1600.0  # arrivals over which the arrival rate is averaged
_RESULTS: dict[str, Callable[[float, float], float]] = {"min": min, "sum": add, "product": mul}
MEMORIES = np.array([100.0, 400.0, 1600.0, 6400.0, 25600.0])  # time constants of the counts, in arrivals
_LOSS_MEMORY = 400.0  # arrivals over which memories are judged
_IMPORTANCE_MEMORY = 1600.0  # arrivals over which importances are averaged
_PSEUDOCOUNT = 0.3  # smoothing: how often each token counts as seen in advance
_RATIOS = 32  # recent ratios that are kept
_LEAST_MEAN, MOST_IMPORTANCE = 1e-60, 1e60  # importances beyond are clipped: no product of them is infinite
_LARGEST_SCALE = 1e100  # of the counts: beyond it they are scaled down
_MOST_TOKENS = 1 << 16  # tokens that are remembered; when there are more, half as many are kept
_DECAY = np.exp(-1.0 / np.append(MEMORIES, _IMPORTANCE_MEMORY))
_COLUMNS = len(MEMORIES) + 2  # the counts of each memory, then weight and sum of importances


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


class Rates:
    """The predictor of one stream as of the last `learn`."""

    def __init__(self, combine: str = "min") -> None:
        self._combine = combine
        self._places: dict[int, int] = {}
        self._counts: FloatArray = np.zeros((16, _COLUMNS))  # scaled: a later arrival counts for more
        self._scale: FloatArray = np.ones(_COLUMNS - 1)
        self._arrivals: FloatArray = np.zeros(_COLUMNS - 1)
        self._tokens: FloatArray = np.zeros(len(MEMORIES))
        self._importance = 0.0
        self._loss: FloatArray = np.zeros(len(MEMORIES))
        self._ratios = [1.0] * _RATIOS
        self._next = 0
        self._limit = _MOST_TOKENS
        self._settle()

    def gain(self, token: int, importance: float) -> float:
        """The expected importance of results that the next arrival makes with a tuple, through one token."""
        place = self._place(token)
        *counts, weight, total = self._counts[place].tolist()
        probability = sum(map(mul, counts, self._weights), self._base)
        mean = (total + self._one * self._mean) / (weight + self._one)
        return probability * self._with_one(mean, importance)

    def gains(self, tokens: list[int], importances: FloatArray) -> FloatArray:
        """The expected gains, as `gain`, for many tokens at once, each with its tuple's importance."""
        places = [self._place(token) for token in tokens]
        counts = self._counts[places]
        probabilities = counts[:, : len(MEMORIES)] @ self._factors + self._base
        means = (counts[:, -1] + self._one * self._mean) / (counts[:, -2] + self._one)
        gains: FloatArray = probabilities * self._together(means, importances)
        return gains

    def _together(self, means: FloatArray, importances: FloatArray) -> FloatArray:
        """The expected importance of results with tuples of these importances."""
        average = self._sums[-1] / _RATIOS
        if self._combine != "min":
            combined: FloatArray = COMBINATIONS[self._combine](importances, means * average)
            return combined
        lower = np.searchsorted(self._sorted, importances / np.maximum(means, _LEAST_MEAN))
        least: FloatArray = means * np.array(self._sums)[lower] + importances * (_RATIOS - lower)
        return least / _RATIOS

    def learn(self, arrivals: list[tuple[Tokens, float]]) -> None:
        """Update the predictor by (tokens, importance) of arrivals, all at once."""
        places = [[self._place(token) for token in tokens] for tokens, _ in arrivals]
        flat = [place for of_arrival in places for place in of_arrival]
        self._judge(np.array(flat), len(arrivals))
        self._note_ratios(places, [importance for _, importance in arrivals])
        self._scale /= _DECAY ** len(arrivals)
        each = np.repeat([importance for _, importance in arrivals], [*map(len, places)])
        more = np.tile(np.append(self._scale, 0.0), (len(flat), 1))
        more[:, -1] = self._scale[-1] * each
        np.add.at(self._counts, flat, more)
        fade = _DECAY ** len(arrivals)
        self._arrivals = self._arrivals * fade + len(arrivals)
        self._tokens = self._tokens * fade[:-1] + len(flat)
        self._importance = self._importance * fade[-1] + sum(importance for _, importance in arrivals)
        if self._scale.max() > _LARGEST_SCALE:
            self._counts[:, :-1] /= self._scale
            self._counts[:, -1] /= self._scale[-1]
            self._scale[:] = 1.0
        self._settle()

    @property
    def crowded(self) -> bool:
        """Whether there are so many tokens that `forget` is due."""
        return len(self._places) > self._limit

    def forget(self, held: set[int]) -> None:
        """Drop all tokens but the most frequent ones, by the longest memory, and those that are held."""
        last = len(MEMORIES) - 1
        order = np.argsort(-self._counts[: len(self._places), last], kind="stable")
        heaviest = set(order[: _MOST_TOKENS // 2].tolist())
        kept = {token: p for token, p in self._places.items() if p in heaviest or token in held}
        self._counts = self._counts[list(kept.values())]
        self._places = {token: place for place, token in enumerate(kept)}
        self._limit = max(_MOST_TOKENS, 2 * len(kept))
        self._settle()

    def state(self) -> State:
        count = len(self._places)
        return {
            "tokens": np.array(list(self._places), np.int64),
            "counts": self._counts[:count].ravel().copy(),
            "scale": self._scale.copy(),
            "arrivals": self._arrivals.copy(),
            "all_tokens": self._tokens.copy(),
            "loss": self._loss.copy(),
            "ratios": np.array(self._ratios),
            "importance": np.array([self._importance]),
            "numbers": np.array([self._next, self._limit, self._known], np.int64),
        }

    def restore(self, state: State) -> None:
        self._places = {token: place for place, token in enumerate(state["tokens"].tolist())}
        self._counts = state["counts"].reshape(-1, _COLUMNS).copy()
        self._scale, self._arrivals = state["scale"].copy(), state["arrivals"].copy()
        self._tokens, self._loss = state["all_tokens"].copy(), state["loss"].copy()
        self._ratios = state["ratios"].tolist()
        self._importance = float(state["importance"][0])
        self._next, self._limit, known = state["numbers"].tolist()
        self._settle(known)

    def _place(self, token: int) -> int:
        place = self._places.get(token)
        if place is None:
            place = self._places[token] = len(self._places)
            if place >= len(self._counts):
                more = np.zeros((max(16, len(self._counts)), _COLUMNS))
                self._counts = np.concatenate([self._counts, more])
        return place

    def _settle(self, known: int | None = None) -> None:
        """Derive what `gain` needs; `known` is the number of tokens at the last `learn`."""
        self._known = len(self._places) if known is None else known
        better = np.exp(self._loss.min() - self._loss)
        weights = better / better.sum()
        self._below = self._arrivals[:-1] + _PSEUDOCOUNT * self._choices()
        self._factors = weights / (self._scale[:-1] * self._below)
        self._weights = self._factors.tolist()
        self._one = float(self._scale[-1])
        self._base = float((weights * _PSEUDOCOUNT / self._below).sum())
        self._mean = self._importance / self._arrivals[-1] if self._arrivals[-1] else 1.0
        self._sorted = sorted(self._ratios)
        self._sums = [0.0, *accumulate(self._sorted)]

    def _choices(self) -> FloatArray:
        """How many kinds of arrivals there are, as far as each memory knows."""
        each = self._tokens / np.maximum(self._arrivals[:-1], 1e-9)
        choices: FloatArray = (self._known + 1) / np.maximum(each, 1.0)
        return choices

    def _with_one(self, mean: float, importance: float) -> float:
        """The expected importance of a result with one tuple, as `_together`."""
        if self._combine == "sum":
            return importance + mean * self._sums[-1] / _RATIOS
        if self._combine == "product":
            return importance * mean * self._sums[-1] / _RATIOS
        lower = bisect_left(self._sorted, importance / max(mean, _LEAST_MEAN))
        return (mean * self._sums[lower] + importance * (_RATIOS - lower)) / _RATIOS

    def _judge(self, places: IntArray, arrivals: int) -> None:
        """Update the logarithmic loss of each memory by the probability that it gave to the arrivals."""
        fade = float(np.exp(-arrivals / _LOSS_MEMORY))
        counts = self._counts[places, : len(MEMORIES)] / self._scale[:-1]
        likelihoods = (counts + _PSEUDOCOUNT) / self._below
        self._loss = self._loss * fade - np.log(likelihoods).sum(axis=0) * arrivals / len(places)

    def _note_ratios(self, places: list[list[int]], importances: list[float]) -> None:
        """Record each arrival's importance over the mean of its first token that was seen before."""
        for of_arrival, importance in zip(places[-_RATIOS:], importances[-_RATIOS:], strict=True):
            for place in of_arrival:
                weight, total = self._counts[place, -2:].tolist()
                if total > 0.0:
                    self._ratios[self._next] = min(importance * weight / total, MOST_IMPORTANCE / _LEAST_MEAN)
                    self._next = (self._next + 1) % _RATIOS
                    break
