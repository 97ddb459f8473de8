"""Learns of one stream how likely its next arrival carries each token, and how important it is then.

Five memories, from short to long, count the tokens of arrivals, older ones counting less. Each is
judged by how well it foretold what came, and the better it was of late, the more it counts: so a
stream that drifts is followed, and of one that does not much is remembered.

The importance of an arrival is the mean of its token's importances times a ratio that is drawn
from the ratios seen last, of whatever token. If importance is a function of the token all
ratios are 1; if it has nothing to do with it, they tell the whole distribution.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from operator import mul

import numpy as np

from seine.algebra.arrays import IntArray
from seine.shedding.arrivals import Floats
from seine.shedding.exact import COMBINATIONS
from seine.shedding.policy import State, Tokens

MEMORIES = np.array([100.0, 400.0, 1600.0, 6400.0, 25600.0])  # in arrivals
_JUDGED = 400.0  # arrivals, by which memories are judged
_MEAN = 1600.0  # arrivals, of the means of importances
_UNSEEN = 0.3  # how often each token counts as seen before anything is
_RATIOS = 32
_LEAST, MOST = 1e-60, 1e60  # importances beyond are not told apart: no product of them is infinite
_HIGHEST = 1e100  # of a scale: then all counts are scaled down
_CROWD = 1 << 16  # tokens; when there are more, half as many are kept
_DECAY = np.exp(-1.0 / np.append(MEMORIES, _MEAN))
_COLUMNS = len(MEMORIES) + 2  # the counts of each memory, then weight and sum of importances


class Rates:
    """What is known of one stream as of the last `learn`."""

    def __init__(self, combine: str = "min") -> None:
        self._combine = combine
        self._places: dict[int, int] = {}
        self._counts = np.zeros((16, _COLUMNS))  # scaled: an arrival that comes later counts for more
        self._scale = np.ones(_COLUMNS - 1)
        self._arrivals = np.zeros(_COLUMNS - 1)
        self._tokens = np.zeros(len(MEMORIES))
        self._importance = 0.0
        self._loss = np.zeros(len(MEMORIES))
        self._ratios = [1.0] * _RATIOS
        self._next = 0
        self._limit = _CROWD
        self._settle()

    def gain(self, token: int, importance: float) -> float:
        """What the next arrival is expected to make with a tuple of this importance through a token."""
        place = self._place(token)
        *counts, weight, total = self._counts[place].tolist()
        probability = sum(map(mul, counts, self._weights), self._base)
        mean = (total + self._one * self._mean) / (weight + self._one)
        return probability * self._with_one(mean, importance)

    def gains(self, tokens: list[int], importances: Floats) -> Floats:
        """The same for many tokens at once, each with its tuple's importance."""
        places = [self._place(token) for token in tokens]
        counts = self._counts[places]
        probabilities = counts[:, : len(MEMORIES)] @ self._factors + self._base
        means = (counts[:, -1] + self._one * self._mean) / (counts[:, -2] + self._one)
        found: Floats = probabilities * self._together(means, importances)
        return found

    def _together(self, means: Floats, importances: Floats) -> Floats:
        """The expected importance of results with tuples of these importances."""
        average = self._sums[-1] / _RATIOS
        if self._combine != "min":
            found: Floats = COMBINATIONS[self._combine](importances, means * average)
            return found
        lower = np.searchsorted(self._sorted, importances / np.maximum(means, _LEAST))
        least: Floats = means * np.array(self._sums)[lower] + importances * (_RATIOS - lower)
        return least / _RATIOS

    def learn(self, arrivals: list[tuple[Tokens, float]]) -> None:
        """Take in what arrived, all at once."""
        places = [[self._place(token) for token in tokens] for tokens, _ in arrivals]
        flat = [place for some in places for place in some]
        self._judge(np.array(flat), len(arrivals))
        self._note_ratios(places, [importance for _, importance in arrivals])
        self._scale /= _DECAY ** len(arrivals)
        each = np.repeat([importance for _, importance in arrivals], [len(some) for some in places])
        more = np.tile(np.append(self._scale, 0.0), (len(flat), 1))
        more[:, -1] = self._scale[-1] * each
        np.add.at(self._counts, flat, more)
        fade = _DECAY ** len(arrivals)
        self._arrivals = self._arrivals * fade + len(arrivals)
        self._tokens = self._tokens * fade[:-1] + len(flat)
        self._importance = self._importance * fade[-1] + sum(importance for _, importance in arrivals)
        if self._scale.max() > _HIGHEST:
            self._counts[:, :-1] /= self._scale
            self._counts[:, -1] /= self._scale[-1]
            self._scale[:] = 1.0
        self._settle()

    @property
    def crowded(self) -> bool:
        """Whether there are so many tokens that it is time to forget some."""
        return len(self._places) > self._limit

    def forget(self, held: set[int]) -> None:
        """Keep the tokens that came most, by the longest memory, and those that are held."""
        last = len(MEMORIES) - 1
        order = np.argsort(-self._counts[: len(self._places), last], kind="stable")
        heaviest = set(order[: _CROWD // 2].tolist())
        kept = {token: p for token, p in self._places.items() if p in heaviest or token in held}
        self._counts = self._counts[list(kept.values())]
        self._places = {token: place for place, token in enumerate(kept)}
        self._limit = max(_CROWD, 2 * len(kept))
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
        """What `gain` needs, from all that was learnt when so many tokens were known."""
        self._known = len(self._places) if known is None else known
        better = np.exp(self._loss.min() - self._loss)
        weights = better / better.sum()
        self._below = self._arrivals[:-1] + _UNSEEN * self._choices()
        self._factors = weights / (self._scale[:-1] * self._below)
        self._weights = self._factors.tolist()
        self._one = float(self._scale[-1])
        self._base = float((weights * _UNSEEN / self._below).sum())
        self._mean = self._importance / self._arrivals[-1] if self._arrivals[-1] else 1.0
        self._sorted = sorted(self._ratios)
        self._sums = [0.0, *accumulate(self._sorted)]

    def _choices(self) -> Floats:
        """Among how many different arrivals one is drawn, as far as each memory knows."""
        each = self._tokens / np.maximum(self._arrivals[:-1], 1e-9)
        choices: Floats = (self._known + 1) / np.maximum(each, 1.0)
        return choices

    def _with_one(self, mean: float, importance: float) -> float:
        """What `_together` is, for one."""
        if self._combine == "sum":
            return importance + mean * self._sums[-1] / _RATIOS
        if self._combine == "product":
            return importance * mean * self._sums[-1] / _RATIOS
        lower = bisect_left(self._sorted, importance / max(mean, _LEAST))
        return (mean * self._sums[lower] + importance * (_RATIOS - lower)) / _RATIOS

    def _judge(self, places: IntArray, arrivals: int) -> None:
        """Judge each memory by the probability that it gave to what came."""
        fade = float(np.exp(-arrivals / _JUDGED))
        told = (self._counts[places, : len(MEMORIES)] / self._scale[:-1] + _UNSEEN) / self._below
        self._loss = self._loss * fade - np.log(told).sum(axis=0) * arrivals / len(places)

    def _note_ratios(self, places: list[list[int]], importances: list[float]) -> None:
        """Of each arrival, its importance beside the mean of its first token that has come before."""
        for some, importance in zip(places[-_RATIOS:], importances[-_RATIOS:], strict=True):
            for place in some:
                weight, total = self._counts[place, -2:].tolist()
                if total > 0.0:
                    self._ratios[self._next] = min(importance * weight / total, MOST / _LEAST)
                    self._next = (self._next + 1) % _RATIOS
                    break
