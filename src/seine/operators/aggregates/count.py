"""COUNT: how many values are alive."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seine.operators.aggregates.fold import Changes


class Count:
    """Keeps one number."""

    state: tuple[pa.DataType, ...] = (pa.int64(),)

    def advance(self, changes: Changes, start: list[pa.Array]) -> tuple[np.ndarray, list[pa.Array]]:
        counts = changes.running(changes.weights, start[0].fill_null(0).to_numpy())
        return counts, [pa.array(counts[changes.layout.last])]
