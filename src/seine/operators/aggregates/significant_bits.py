"""Doubles rounded to a few significant bits: the cells of a histogram with a bounded relative error.

Of each power of two there are 128 cells, as in an HDR histogram, so every value is within 0.4 % of the value
of its cell, and there are finitely many: what is held for a group is bounded. Rounding never changes the
order of two values, so a quantile of rounded values is the rounded quantile; and it does not depend on the
order in which values come and go, as the buffers of other sketches (KLL, t-digest) do.
"""

from __future__ import annotations

import numpy as np

from seine.algebra.arrays import AnyArray

SIGNIFICANT_BITS = 8  # the first is the leading one
_CELLS = 2.0**SIGNIFICANT_BITS


def round_significant(values: AnyArray) -> AnyArray:
    """Values rounded to the nearest of 8 significant bits; whole numbers stay whole.

    >>> round_significant(np.array([3.0, 255.0, 257.0, -1000.4, 0.1])).tolist()
    [3.0, 255.0, 258.0, -1000.0, 0.10009765625]
    """
    numbers = values.astype(np.float64)
    fraction, power = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    rounded = np.ldexp(
        np.copysign(np.floor(np.abs(fraction) * _CELLS + 0.5), numbers), power - SIGNIFICANT_BITS
    )
    result: AnyArray = np.where(np.isfinite(numbers), rounded, numbers)
    return result
