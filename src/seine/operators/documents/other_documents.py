"""The documents that new ones of a step are paired with, found by key: held ones, and those new as well."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.documents.held_documents import HeldDocuments, NewDocuments
from seine.operators.state.sorted_run import take_rows
from seine.rows.delta import concat_batches


class OtherDocuments:
    """The documents that new ones are paired with: held ones, and those that arrived in the same step."""

    def __init__(self, held: HeldDocuments, fresh: NewDocuments | None) -> None:
        self._held, self._fresh = held, fresh

    def rows(self, keys: IntArray, columns: list[str]) -> pa.RecordBatch:
        """These columns of the documents of keys, in their order; all of them are there."""
        pieces, at = [], []
        if self._fresh is not None:
            order = np.argsort(self._fresh.keys, kind="stable")
            spots = np.minimum(np.searchsorted(self._fresh.keys[order], keys), len(order) - 1)
            hit = np.flatnonzero(self._fresh.keys[order[spots]] == keys)
            pieces.append(take_rows(self._fresh.batch.select(columns), order[spots[hit]]))
            at.append(hit)
        for hit, rows in self._held.find(keys, columns):
            pieces.append(rows)
            at.append(hit)
        row_of = np.full(len(keys), -1)
        row_of[np.concatenate(at)] = np.arange(sum(map(len, at)))
        assert (row_of >= 0).all(), "a document is kept as long as its index rows are of use"
        return take_rows(concat_batches(pieces), row_of)
