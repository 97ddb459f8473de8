"""The semantic policy: evicts the tuple that the other streams have matched least so far."""

from __future__ import annotations

from math import prod

import numpy as np

from seine.shedding.matches import Edges, others_on
from seine.shedding.policy import Policy, State, TokenGroups, Tokens
from seine.shedding.window import Window

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
