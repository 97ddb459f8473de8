"""The importance of results: the minimum, sum or product of the importances of their stream tuples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seine.algebra.arrays import FloatArray
from seine.algebra.star import Star
from seine.operators.limited.star_combinations import Combinations
from seine.rows.column_arrays import to_doubles

_COMBINED: dict[str, Callable[..., FloatArray]] = {"min": np.minimum, "sum": np.add, "product": np.multiply}


@np.errstate(over="ignore")  # it is infinite then
def importance_of(combinations: Combinations, star: Star, how: str) -> FloatArray:
    """The importance of each combination; 1 if no stream has IMPORTANCE BY."""
    total: FloatArray | None = None
    for item in star.items:
        if item.importance is not None:
            column = to_doubles(combinations[item.start + item.importance])
            total = column if total is None else _COMBINED[how](total, column)
    return np.ones(combinations.num_rows) if total is None else total


@np.errstate(over="ignore")
def importance_of_all(combinations: Combinations, star: Star, how: str) -> float:
    """The sum of the importances of combinations."""
    return float(importance_of(combinations, star, how).sum())
