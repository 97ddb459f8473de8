"""An online predictor of one stream: the probability that its next arrival has a token, and its importance.

Probability: five exponentially decayed frequency counts of tokens, with memories from 100 to 25,600 arrivals,
are mixed by exponential weights: each memory is judged by the likelihood that it gave to the recent arrivals.
So a stream that drifts is followed, and of one that does not much is remembered.

Importance: the mean of the token's importances times a random ratio, drawn from the ratios of recent arrivals
of all tokens. If importance is a function of the token all ratios are 1; if it is independent of it, the
ratios are its whole distribution.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from operator import mul

import numpy as np

from seine.algebra.arrays import FloatArray, IntArray
from seine.shedding.exact import COMBINATIONS
from seine.shedding.policy import State, Tokens

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
