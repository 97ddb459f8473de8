"""What a policy reaches of the exact total importance, beside the optimum and what can be expected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from seine.algebra.arrays import FloatArray
from seine.shedding.arrivals import Arrivals
from seine.shedding.exact import Exact, exact_results, residence
from seine.shedding.optimum import Optimum, find_optimum
from seine.shedding.policies import Shedding
from seine.shedding.shedder import Shedder

Streams = tuple[Arrivals, Arrivals]


class StarBenchmark:
    """Two streams, and their exact results."""

    def __init__(self, streams: Streams) -> None:
        self.streams = streams
        self.exact = exact_results(*streams)
        self.total = self.exact.total()

    def kept(self, policy: str, memory: int, seed: int = 0) -> np.ndarray:
        """Which of the exact results a policy reports."""
        gone = Shedder(Shedding(policy, seed=seed), memory // 2, 2).step(self.streams)
        left, right = (residence(*both) for both in zip(self.streams, gone, strict=True))
        return self.exact.reported(left, right)

    def share(self, policy: str, memory: int, seed: int = 0) -> float:
        return float(self.exact.importance[self.kept(policy, memory, seed)].sum()) / self.total

    def optimum(self, memory: int, by_outputs: bool = False) -> Optimum:
        """The optimum, or the importance of what has the most results."""
        left, right = self.streams
        ones = replace(self.exact, importance=np.ones(len(self.exact.importance)))
        best = find_optimum(ones if by_outputs else self.exact, (left.ts, right.ts), memory // 2)
        kept = self.exact.reported(*best.until)
        return replace(best, importance=float(self.exact.importance[kept].sum()))

    def expected(self, memory: int) -> float:
        """The share of one that knows the true rates of all keys, but not what comes next.

        At each instant it has whichever live tuples gain most by those rates, even if it evicted them before.
        """
        left, right = self.streams
        total = float(self.exact.importance[self.exact.left_ts == self.exact.right_ts].sum())
        for side, (own, other) in enumerate(((left, right), (right, left))):
            total += _best_by_rate(self.exact, side, own, _rates(own, other), memory // 2)
        return total / self.total


def _rates(own: Arrivals, other: Arrivals) -> FloatArray:
    """What an arrival of the other stream makes with each tuple on average, over the whole run."""
    forever = np.full(len(own), np.iinfo(np.int64).max // 4)
    everyone = replace(own, ts=np.zeros(len(own), np.int64), expiry=forever)
    partners = replace(other, ts=np.zeros(len(other), np.int64), expiry=forever[: len(other)])
    met = exact_results(everyone, partners)
    return np.bincount(met.left, met.importance, len(own)) / len(other)


def _best_by_rate(exact: Exact, side: int, own: Arrivals, rates: FloatArray, capacity: int) -> float:
    holder = exact.right if side else exact.left
    since, at = (exact.right_ts, exact.left_ts) if side else (exact.left_ts, exact.right_ts)
    total = 0.0
    older = np.flatnonzero(since < at)
    order = older[np.argsort(at[older], kind="stable")]
    for results in np.split(order, np.flatnonzero(np.diff(at[order])) + 1):
        now = at[results[0]]
        alive = np.flatnonzero((own.ts < now) & (own.expiry > now))
        best = alive[np.argsort(-rates[alive], kind="stable")[:capacity]]
        total += float(exact.importance[results][np.isin(holder[results], best)].sum())
    return total
