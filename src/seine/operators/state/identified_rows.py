"""Output rows of an operator that may retract them, and the unique identities it gives them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.state.store import Store
from seine.rows.column_arrays import ColumnArray, as_arrow
from seine.rows.delta import FOREVER, data_names

BUCKETS = 2**16  # the most buckets of a node: an identity is sequence number * BUCKETS + bucket


def take_identities(store: Store, count: int) -> IntArray:
    """Fresh identities, which no other row of the node has or will ever have, in any bucket."""
    first = store.head.get("identities", 0)
    store.head["identities"] = first + count
    identities: IntArray = (first + np.arange(count, dtype=np.int64)) * BUCKETS + store.bucket
    return identities


def open_rows(
    starts: IntArray, identities: IntArray, columns: Sequence[ColumnArray], ends: IntArray | None = None
) -> pa.RecordBatch:
    """Rows with an open lifetime [start, FOREVER); with `ends`, retractions of such rows."""
    names = ["_s", "_e", "_i0", *data_names(len(columns))]
    arrays = [starts, np.full(len(starts), FOREVER), identities, *columns]
    if ends is not None:
        names.insert(2, "_d")
        arrays.insert(2, ends)
    return pa.RecordBatch.from_arrays([as_arrow(array) for array in arrays], names=names)
