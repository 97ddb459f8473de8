"""The rows that an operator with identities of its own gives out, and those identities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.operators.state.store import Store
from seine.rows.cheap_columns import Plain, arrow
from seine.rows.delta import FOREVER, data_names

BUCKETS = 2**16


def take_identities(store: Store, count: int) -> np.ndarray:
    """Numbers that no other row of the node has or will have, in any bucket."""
    first = store.head.get("identities", 0)
    store.head["identities"] = first + count
    return (first + np.arange(count, dtype=np.int64)) * BUCKETS + store.bucket


def open_rows(
    starts: np.ndarray, identities: np.ndarray, columns: Sequence[Plain], ends: np.ndarray | None = None
) -> pa.RecordBatch:
    """Rows with an open end; with `ends` they are rows that end early."""
    names = ["_s", "_e", "_i0", *data_names(len(columns))]
    arrays = [starts, np.full(len(starts), FOREVER), identities, *columns]
    if ends is not None:
        names.insert(2, "_d")
        arrays.insert(2, ends)
    return pa.RecordBatch.from_arrays([arrow(array) for array in arrays], names=names)
