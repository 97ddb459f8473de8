"""The shedding policies by name, and the options of a query that choose one.

The policy SIMP: evicts the least important tuple.

The policy DIMPPROB: importance times the current number of matches in the opposite window.

The policy RAND: evicts tuples uniformly at random.

The semantic policy: evicts the tuple that the other streams have matched least so far.

The policy DGL: a priority that grows with every result and decays at every instant without one.

The policy SIMPPROB: importance times the matches in the opposite window when the tuple arrived.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from seine.algebra.arrays import IntArray
from seine.shedding.auto import Auto
from seine.shedding.matches import Edges, others_on
from seine.shedding.policy import Policy, State, TokenGroups, Tokens, Window


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


NAMES = ("auto", "rand", "semantic", "simp", "simpprob", "dimpprob", "dgl")
DEFAULT_BETA = 1.0


@dataclass(frozen=True)
class Shedding:
    """How a query sheds load: the options `shed`, `alpha`, `beta`, `seed` and `importance`."""

    name: str = "auto"
    alpha: float | None = None
    beta: float = DEFAULT_BETA
    seed: int = 0
    importance: str = "min"  # how the importance of a result comes from its tuples'; only auto uses it

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise ValueError(f"no policy of this name: {self.name}")
        if self.alpha is not None and self.alpha <= 0:
            raise ValueError(f"alpha is not positive: {self.alpha}")

    def policy(self, stream: int, edges: Edges) -> Policy:
        """The policy for one stream's window."""
        match self.name:
            case "rand":
                return Rand(scramble(self.seed) ^ stream)
            case "semantic":
                return Semantic(stream, edges)
            case "simp":
                return Simp()
            case "simpprob":
                return SimpProb()
            case "dimpprob":
                return DimpProb()
            case "dgl":
                return Dgl(self.alpha, self.beta)
            case _:
                return Auto(stream, edges, self.importance)


class Simp(Policy):
    """P(r) = r.imp; of equals the oldest is evicted.

    Cites: STAR 3.2 (Static Importance)
    """

    def rank(self, window: Window, slot: int, groups: TokenGroups) -> None:
        window.priority[slot] = window.importance[slot]


class DimpProb(SimpProb):
    """P(r) = r.imp * mn(r), recalculated at each instant; ties as in SIMPPROB.

    Cites: STAR 3.2 (Dynamic Importance Probability)
    """

    watches = True

    def refresh(self, window: Window, groups: TokenGroups, now: int) -> None:
        slots = slice(0, window.count)
        window.matches[slots] = groups.matches[window.group[slots]]
        window.priority[slots] = window.importance[slots] * window.matches[slots]


_MASK = (1 << 64) - 1


class Rand(Policy):
    """Draws victims uniformly among the tuples held and the arrivals (a partial Fisher-Yates shuffle).

    The n-th draw is a hash of seed and n, so that the whole state is n, and a run that is resumed
    goes on with the same draws.

    Cites: STAR 4.1 (RAND-S)
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._draws = 0

    def victims(self, window: Window, count: int) -> list[int]:
        slots = []
        moved: dict[int, int] = {}  # a drawn slot is replaced by the last one that is left
        for last in range(window.count - 1, window.count - 1 - count, -1):
            place = self._draw(last + 1)
            slots.append(moved.get(place, place))
            moved[place] = moved.get(last, last)
        return slots

    def _draw(self, bound: int) -> int:
        self._draws += 1
        return scramble(scramble(self._seed & _MASK) ^ self._draws) % bound

    def state(self) -> State:
        return {"draws": np.array([self._draws], np.int64)}

    def restore(self, state: State) -> None:
        self._draws = int(state["draws"][0])


def scramble(number: int) -> int:
    """A 64-bit hash (the finaliser of SplitMix64)."""
    number = (number + 0x9E3779B97F4A7C15) & _MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    return number ^ (number >> 31)


_MOST_TOKENS = 1 << 16  # tokens remembered of a stream: beyond that, all counts are halved


class Semantic(Policy):
    """P(r) = how often arrivals of the other streams have had a token of r so far, whatever the
    importance; of equals the oldest is evicted.

    Cites: STAR 4.1 (SJA-S)
    """

    watches = True

    def __init__(self, stream: int, edges: Edges) -> None:
        self._edges = others_on(edges, stream)
        self._seen: dict[int, dict[int, int]] = {other: {} for edge in self._edges for other in edge}

    def observe(self, stream: int, tokens: Tokens, importance: float, now: int) -> None:
        seen = self._seen.get(stream)
        if seen is None:  # no edge leads there
            return
        for token in tokens:
            seen[token] = seen.get(token, 0) + 1
        if len(seen) > _MOST_TOKENS:
            self._seen[stream] = {token: count // 2 for token, count in seen.items() if count > 1}

    def rank(self, window: Window, slot: int, groups: TokenGroups) -> None:
        window.priority[slot] = sum(map(self._frequency, window.tokens[slot]))

    def _frequency(self, token: int) -> int:
        others = self._edges[token % len(self._edges)]
        return prod(self._seen[other].get(token, 0) for other in others)

    def state(self) -> State:
        columns: State = {}
        for other, seen in self._seen.items():
            columns[f"tokens{other}"] = np.array(list(seen), np.int64)
            columns[f"counts{other}"] = np.array(list(seen.values()), np.int64)
        return columns

    def restore(self, state: State) -> None:
        for other in self._seen:
            tokens, counts = state[f"tokens{other}"].tolist(), state[f"counts{other}"].tolist()
            self._seen[other] = dict(zip(tokens, counts, strict=True))


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
