"""Punctuation rates in the cost of a plan: what a join holds until they come, and how many it takes in.

A punctuation costs work, and it frees rows. Of a scheme it is known, by samples, how many punctuations have
come and which share of the values is open still. A row waits for every other input to be closed, so of the
rows of an input the share is held that the slowest of the others leaves open; of schemes that close an input
the quickest counts.

    x has punctuated 90 of 100 values of a, y 10 of 100:   (x, y) by a holds a tenth of y and nine tenths of x

Cites: SAFETY 5.2 (cost estimation: punctuation arrival rates, costs and benefits of punctuations)
Differs: SAFETY leaves the estimate open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from seine.safety.plans.joined_streams import SchemeUse
from seine.safety.plans.pair_joins import PairJoins
from seine.safety.plans.safe_plans import Items


@dataclass(frozen=True)
class PurgeRates:
    """What is known of the punctuations of the streams of a block: how many come, and what they leave
    open.
    """

    joins: PairJoins
    count: Callable[[SchemeUse], float]
    open_share: Callable[[SchemeUse], float]

    def held_share(self, part: Items, parts: tuple[Items, ...]) -> float:
        """The share of the rows of an input that a join of these inputs holds."""
        others = [other for other in parts if other != part]
        return max(self._left_open(other, parts) for other in others)

    def _left_open(self, other: Items, parts: tuple[Items, ...]) -> float:
        return min((self.open_share(use) for use in self.joins.used(other, parts)), default=1.0)

    def taken_in(self, parts: tuple[Items, ...]) -> float:
        """How many punctuations come to a join of these inputs."""
        return sum(self.count(use) for part in parts for use in self.joins.used(part, parts))
