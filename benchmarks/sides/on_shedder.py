"""A side: the load shedder on two streams, beside exact results, the optimum and an oracle of rates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from seine.algebra.arrays import BoolArray, FloatArray
from seine.shedding.exact import ExactResults, Optimum, exact_results, find_optimum, residence
from seine.shedding.policies import Shedding
from seine.shedding.policy import Arrivals
from seine.shedding.shedder import Shedder

Streams = tuple[Arrivals, Arrivals]


class StarBenchmark:
    """Two streams and their exact join results; shares are of the exact total importance."""

    def __init__(self, streams: Streams) -> None:
        self.streams = streams
        self.exact = exact_results(*streams)
        self.total = self.exact.total()

    def kept(self, policy: str, memory: int, seed: int = 0) -> BoolArray:
        """A mask of the exact results that a policy reports."""
        gone = Shedder(Shedding(policy, seed=seed), memory // 2, 2).step(self.streams)
        left, right = (residence(*both) for both in zip(self.streams, gone, strict=True))
        return self.exact.reported(left, right)

    def share(self, policy: str, memory: int, seed: int = 0) -> float:
        """The share of the exact total importance that a policy reports."""
        return float(self.exact.importance[self.kept(policy, memory, seed)].sum()) / self.total

    def optimum(self, memory: int, by_outputs: bool = False) -> Optimum:
        """The offline optimum; if `by_outputs`, the importance that the most results have."""
        left, right = self.streams
        ones = replace(self.exact, importance=np.ones(len(self.exact.importance)))
        best = find_optimum(ones if by_outputs else self.exact, (left.ts, right.ts), memory // 2)
        kept = self.exact.reported(*best.until)
        return replace(best, importance=float(self.exact.importance[kept].sum()))

    def expected(self, memory: int) -> float:
        """The share reached by an oracle that knows the true rate of each key, but not the next arrivals.

        At each instant it holds the live tuples that gain most by those rates, even if it evicted them
        before.
        """
        left, right = self.streams
        total = float(self.exact.importance[self.exact.left_ts == self.exact.right_ts].sum())
        for side, (held, arriving) in enumerate(((left, right), (right, left))):
            total += _best_by_rate(self.exact, side, held, _rates(held, arriving), memory // 2)
        return total / self.total


def _rates(held: Arrivals, arriving: Arrivals) -> FloatArray:
    """For each held tuple the mean importance of its results with an arrival of the other stream."""
    forever = np.full(len(held), np.iinfo(np.int64).max // 4)
    everyone = replace(held, ts=np.zeros(len(held), np.int64), expiry=forever)
    partners = replace(arriving, ts=np.zeros(len(arriving), np.int64), expiry=forever[: len(arriving)])
    met = exact_results(everyone, partners)
    return np.bincount(met.left, met.importance, len(held)) / len(arriving)


def _best_by_rate(exact: ExactResults, side: int, held: Arrivals, rates: FloatArray, capacity: int) -> float:
    holder = exact.right if side else exact.left
    since, at = (exact.right_ts, exact.left_ts) if side else (exact.left_ts, exact.right_ts)
    total = 0.0
    older = np.flatnonzero(since < at)
    order = older[np.argsort(at[older], kind="stable")]
    for results in np.split(order, np.flatnonzero(np.diff(at[order])) + 1):
        now = at[results[0]]
        alive = np.flatnonzero((held.ts < now) & (held.expiry > now))
        best = alive[np.argsort(-rates[alive], kind="stable")[:capacity]]
        total += float(exact.importance[results][np.isin(holder[results], best)].sum())
    return total
