"""The tuples of a relation, ready to be looked up by key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from seine.operators.hashing import hash_columns, null_mask
from seine.operators.pairs import ranges
from seine.operators.sorted_run import KEY, SortedRun

NUMBER = "_n"  # of the tuple in the relation


class RelationIndex:
    """A relation's tuples (columns c0, c1, ..) by the hash of some key; a NULL in it is never found.

    >>> index = RelationIndex(pa.record_batch({"c0": [7, 8, 7]}), [pa.array([1, 2, 1])])
    >>> [sorted(zip(*(a.tolist() for a in found))) for found in index.candidates([pa.array([2, 3, 1])], 3)]
    [[(0, 1), (2, 0), (2, 2)]]
    """

    def __init__(self, batch: pa.RecordBatch, key: Sequence[pa.Array]) -> None:
        self.batch = batch
        self._keyed = bool(key)
        nulls = null_mask(key)
        rows = np.arange(batch.num_rows) if nulls is None else np.flatnonzero(~nulls)
        keys = hash_columns(key, batch.num_rows)[rows]
        self._run = SortedRun.of(pa.record_batch({KEY: keys, NUMBER: rows}), KEY)

    def candidates(self, key: Sequence[pa.Array], count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs (row, tuple) of equal hash, in chunks; all pairs where there is no key."""
        if not self._keyed:
            yield from ranges(np.zeros(count, np.int64), np.full(count, self.batch.num_rows))
            return
        nulls = null_mask(key)
        asking = np.arange(count) if nulls is None else np.flatnonzero(~nulls)
        numbers = self._run.batch[NUMBER].to_numpy()
        for rows, places in self._run.equal_keys(hash_columns(key, count)[asking]):
            yield asking[rows], numbers[places]
