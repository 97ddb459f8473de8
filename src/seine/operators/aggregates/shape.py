"""SKEWNESS and KURTOSIS: the third and the fourth moment of the values of a group around their mean.

Law: with m_k the mean of (x - mean)**k, the skewness is m_3 / m_2**1.5 and the kurtosis m_4 / m_2**2 - 3;
sums are rounded once, so they depend on the live values alone. A change costs the values of its group.
"""

from __future__ import annotations

import math
from typing import Any

from seine.algebra.aggregates import FoldedAggregate


class ShapeOfValues(FoldedAggregate):
    """Collects numbers; NULL of none, and of equal ones, which have no shape.

    >>> shape = ShapeOfValues("skewness")
    >>> round(shape.finish([-10.0, -20.0, 100.0, 1000.0]), 6)
    1.113566
    """

    name = "shape"

    def __init__(self, function: str) -> None:
        self._power = 3 if function == "skewness" else 4

    def init(self) -> Any:
        return []

    def add(self, state: Any, *values: Any) -> Any:
        state.append(values[0])
        return state

    def merge(self, one: Any, other: Any) -> Any:
        return one + other

    def finish(self, *state: Any, **parts: Any) -> Any:
        values = state[0]
        if not values or not all(map(math.isfinite, values)):
            return math.nan if values else None
        distances = self._distances(values)
        largest = max(map(abs, distances))
        if not largest:
            return None
        shares = [distance / largest for distance in distances]  # the shape does not depend on the unit
        square, moment = (math.fsum(share**k for share in shares) / len(shares) for k in (2, self._power))
        return moment / square**1.5 if self._power == 3 else moment / square**2 - 3

    @staticmethod
    def _distances(values: list[float]) -> list[float]:
        """The distances from the mean, in a unit in which nothing overflows."""
        unit = max(map(abs, values)) or 1.0
        shares = [value / unit for value in values]
        mean = math.fsum(shares) / len(shares)
        return [share - mean for share in shares]
