"""The rows that an operator with identities of its own gives out, and those identities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.operators.delta import FOREVER, data_names
from seine.operators.plain import Plain, arrow
from seine.operators.store import Store

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
    named = {"_s": pa.array(starts, pa.int64()), "_e": pa.array(np.full(len(starts), FOREVER))}
    if ends is not None:
        named["_d"] = pa.array(ends, pa.int64())
    named["_i0"] = pa.array(identities, pa.int64())
    named.update(zip(data_names(len(columns)), map(arrow, columns), strict=True))
    return pa.RecordBatch.from_arrays(list(named.values()), names=list(named))
