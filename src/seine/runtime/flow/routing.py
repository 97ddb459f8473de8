"""Hash partitioning: rows by the bucket of their key, with no more columns than are needed there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Expression
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import evaluate
from seine.rows.delta import ARRIVAL_NUMBER, carried_names
from seine.rows.hashing import bucket_of, hash_columns, null_mask


class Route(NamedTuple):
    """A stage, the buckets of a key or the one of a node, and the data columns that travel (None: all)."""

    stage: int
    home: int | None
    key: tuple[Expression, ...]
    drop_null: bool  # NULL joins nothing
    columns: tuple[str, ...] | None
    numbered: bool = False  # arrival numbers travel too
    broadcast: bool = False  # to all buckets
    spread: tuple[int, ...] = ()  # the parts of the key that choose the bucket; none: all


def route(
    batch: pa.RecordBatch, columns: DataColumns, to: Route, buckets: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a batch by bucket, with the hash of their key in front."""
    keys = [evaluate(e, columns, batch.num_rows) for e in to.key]
    if to.columns is not None:
        number = [ARRIVAL_NUMBER] if to.numbered else []
        batch = batch.select([*carried_names(batch), *number, *to.columns])
    missing = null_mask(keys) if to.drop_null else None
    if missing is not None:
        known = pa.array(np.flatnonzero(~missing))
        batch, keys = batch.take(known), [key.take(known) for key in keys]
    if not batch.num_rows:
        return
    hashes = hash_columns(keys, batch.num_rows)
    keyed = pa.RecordBatch.from_arrays([pa.array(hashes), *batch.columns], ["_k", *batch.schema.names])
    if to.broadcast and to.home is None:
        yield from ((bucket, keyed) for bucket in range(buckets))
        return
    if to.home is not None or buckets == 1:
        yield to.home or 0, keyed
        return
    chosen_by = hash_columns([keys[i] for i in to.spread], batch.num_rows) if to.spread else hashes
    places = bucket_of(chosen_by, buckets)
    order = np.argsort(places, kind="stable")
    sorted_rows, bounds = keyed.take(pa.array(order)), np.searchsorted(places[order], np.arange(buckets + 1))
    for bucket in np.flatnonzero(np.diff(bounds)).tolist():
        yield bucket, sorted_rows.slice(bounds[bucket], bounds[bucket + 1] - bounds[bucket])
