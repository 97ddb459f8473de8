"""The window of FOLLOWED BY: 0 < t2 - t1 <= T, exactly T included.

Cites: MMQJP 4.4 (Algorithm 3)
"""

from __future__ import annotations

from benchmarks.template_engines.witness_index import WitnessIndex
from seine.algebra.arrays import BoolArray, IntArray


def within_window(index: WitnessIndex, left: IntArray, right: IntArray, window: IntArray | int) -> BoolArray:
    """Which pairs of documents follow each other within a window, or within one for each pair."""
    distance = index.times(right) - index.times(left)
    within: BoolArray = (distance > 0) & (distance <= window)
    return within
