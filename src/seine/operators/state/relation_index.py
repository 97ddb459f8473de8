"""The tuples of a relation, ready to be looked up by key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Self

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.operators.state.run_file import CHUNK, NUMBER, open_run, write_run
from seine.operators.state.sorted_run import KEY, SortedRun
from seine.operators.state.work_budget import spend_candidates
from seine.rows.hashing import hash_columns, null_mask
from seine.rows.pairs import ranges

Key = Callable[[pa.RecordBatch], Sequence[pa.Array]]


class RelationIndex:
    """A relation's tuples (columns c0, c1, ..) by the hash of some key; a NULL in it is never found.

    >>> index = RelationIndex(pa.record_batch({"c0": [7, 8, 7]}), [pa.array([1, 2, 1])])
    >>> [sorted(zip(*(a.tolist() for a in found))) for found in index.candidates([pa.array([2, 3, 1])], 3)]
    [[(0, 1), (2, 0), (2, 2)]]
    """

    def __init__(self, batch: pa.RecordBatch, key: Sequence[pa.Array]) -> None:
        self.batch = batch
        self._run: SortedRun | None = None
        if key:
            keys, rows = _hashed(key, batch.num_rows)
            self._run = SortedRun.of(pa.record_batch({KEY: keys, NUMBER: rows}), KEY)

    @classmethod
    def in_file(cls, batch: pa.RecordBatch, path: str) -> Self:
        """The same over an index that `write_index` made; nothing of it is held."""
        index = cls(batch, [])
        index._run = open_run(path)
        return index

    def candidates(self, key: Sequence[pa.Array], count: int) -> Iterator[tuple[AnyArray, AnyArray]]:
        """Pairs (row, tuple) of equal hash, in chunks; all pairs where there is no key."""
        if self._run is None:
            for rows, tuples in ranges(np.zeros(count, np.int64), np.full(count, self.batch.num_rows)):
                spend_candidates(len(rows))
                yield rows, tuples
            return
        keys, asking = _hashed(key, count)
        numbers = self._run.batch[NUMBER].to_numpy()
        for rows, places in self._run.equal_keys(keys):
            yield asking[rows], numbers[places]


def write_index(path: str, batch: pa.RecordBatch, key: Key) -> None:
    """Index tuples in a file, some at a time; `key` gives the key columns of some of them."""
    write_run(path, _pieces(batch, key))


def _pieces(batch: pa.RecordBatch, key: Key) -> Iterator[tuple[AnyArray, AnyArray]]:
    for start in range(0, batch.num_rows, CHUNK):
        chunk = batch.slice(start, CHUNK)
        keys, rows = _hashed(key(chunk), chunk.num_rows)
        yield keys, rows + start


def _hashed(key: Sequence[pa.Array], count: int) -> tuple[AnyArray, AnyArray]:
    """The hashes of the keys without NULL, and whose they are."""
    nulls = null_mask(key)
    rows = np.arange(count) if nulls is None else np.flatnonzero(~nulls)
    return hash_columns(key, count)[rows], rows
