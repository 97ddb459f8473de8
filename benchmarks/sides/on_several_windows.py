"""A side: the load shedder on three streams or more, beside exact results and the optimum or its bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from seine.algebra.arrays import IntArray
from seine.shedding.exact import residence
from seine.shedding.policies import Shedding
from seine.shedding.policy import Arrivals
from seine.shedding.several_windows import BestWindows, ExactCombinations, best_windows
from seine.shedding.shedder import Shedder


class SeveralWindows:
    """Streams that a relation joins all at once, and their exact results; shares are of the exact total."""

    def __init__(self, streams: Sequence[Arrivals]) -> None:
        self.streams = streams
        self.exact = exact_combinations(streams)
        self.total = float(self.exact.importance.sum())

    def share(self, policy: str, memory: int, seed: int = 0) -> float:
        """The share of the exact total importance that a policy reports."""
        count = len(self.streams)
        gone = Shedder(Shedding(policy, seed=seed), memory // count, count).step(self.streams)
        until = [residence(*both) for both in zip(self.streams, gone, strict=True)]
        return float(self.exact.importance[self.exact.reported(until)].sum()) / self.total

    def best(self, memory: int) -> BestWindows:
        """The best choice that is found offline, and what no choice exceeds."""
        return best_windows(self.exact, memory // len(self.streams))


def exact_combinations(streams: Sequence[Arrivals]) -> ExactCombinations:
    """All combinations with a token in common whose lifetimes overlap, once for each such token.

    >>> ints = lambda *values: np.array(values, np.int64)
    >>> once = Arrivals.keyed(ints(0), ints(2), ints(4), ints(7), np.array([3.0]))
    >>> late = Arrivals.keyed(ints(0, 1), ints(3, 4), ints(5, 6), ints(7, 7), np.array([2.0, 2.0]))
    >>> [places.tolist() for places in exact_combinations([once, once, late]).places]
    [[0], [0], [0]]
    """
    carriers = [_carriers(stream) for stream in streams]
    tokens = sorted(set.intersection(*(set(one) for one in carriers)))
    met = [_together(streams, [one[token] for one in carriers]) for token in tokens]
    places = np.concatenate([np.zeros((len(streams), 0), np.int64), *met], axis=1)
    importances = [stream.importance[place] for stream, place in zip(streams, places, strict=True)]
    starts = tuple(stream.ts for stream in streams)
    return ExactCombinations(tuple(places), starts, np.minimum.reduce(importances))


def _carriers(stream: Arrivals) -> dict[int, IntArray]:
    """For each token the places of the tuples that carry it."""
    owners = np.repeat(np.arange(len(stream)), np.diff(stream.offsets))
    order = np.argsort(stream.tokens, kind="stable")
    tokens, begins = np.unique(stream.tokens[order], return_index=True)
    return dict(zip(tokens.tolist(), np.split(owners[order], begins[1:]), strict=True))


def _together(streams: Sequence[Arrivals], carriers: Sequence[IntArray]) -> IntArray:
    """The combinations of carriers of one token that are alive at one instant: one row for each stream."""
    grown = carriers[0][None, :]
    begins, ends = streams[0].ts[carriers[0]], streams[0].expiry[carriers[0]]
    for stream, places in zip(streams[1:], carriers[1:], strict=True):
        begin = np.maximum(begins[:, None], stream.ts[places])
        end = np.minimum(ends[:, None], stream.expiry[places])
        rows, columns = np.nonzero(begin < end)
        grown = np.concatenate([grown[:, rows], places[columns][None, :]])
        begins, ends = begin[rows, columns], end[rows, columns]
    return grown


def mean_shares(measured: Sequence[SeveralWindows], policies: Sequence[str], memory: int) -> Iterator[float]:
    """The mean shares of policies, of the best choices that were found, and of the bounds."""
    for name in policies:
        yield float(np.mean([one.share(name, memory, seed) for seed, one in enumerate(measured)]))
    best = [(one.best(memory), one.total) for one in measured]
    yield float(np.mean([float(one.importance) / total for one, total in best]))
    yield float(np.mean([float(one.bound) / total for one, total in best]))
