"""COUNT: how many values are alive."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.operators.aggregates.fold import Changes, Kept
from seine.operators.keyed import Found


class Count:
    """Keeps one number."""

    state: tuple[pa.DataType, ...] = (pa.int64(),)

    def advance(self, changes: Changes, found: Found, names: Sequence[str]) -> tuple[np.ndarray, Kept]:
        counts = changes.running(changes.weights, found.numbers(names[0]))
        return counts, [counts[changes.layout.last]]
