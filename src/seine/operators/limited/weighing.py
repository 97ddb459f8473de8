"""The importance of combinations, from those of their stream tuples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seine.algebra.arrays import IntArray
from seine.algebra.star import Star
from seine.operators.limited.star_combinations import Combinations
from seine.rows.cheap_columns import doubles

_COMBINED: dict[str, Callable[..., IntArray]] = {"min": np.minimum, "sum": np.add, "product": np.multiply}


@np.errstate(over="ignore")  # it is infinite then
def importance_of(found: Combinations, star: Star, how: str) -> IntArray:
    """The importance of each combination; 1 where no stream has any."""
    total: IntArray | None = None
    for item in star.items:
        if item.importance is not None:
            column = doubles(found[item.start + item.importance])
            total = column if total is None else _COMBINED[how](total, column)
    return np.ones(found.num_rows) if total is None else total


@np.errstate(over="ignore")
def importance_of_all(found: Combinations, star: Star, how: str) -> float:
    """The sum of the importances of some combinations."""
    return float(importance_of(found, star, how).sum())
