"""A table of rows by key in a store: what is written last for a key counts.

The table is a list of runs, oldest first, each sorted by the key's hash. Writing puts a run of
what changed; runs of similar size are merged, so that few remain and a row is rewritten a
logarithmic number of times. A row whose `live` column is 0 says that its key is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.operators.grouping import all_equal, group_rows
from seine.operators.store import Store

FAN_IN = 8
SMALL = 512  # rows; runs below this are all of one size
HASH = "_k"


class Found(NamedTuple):
    """Rows that were found, and for each question the place of its answer in them, or -1."""

    rows: pa.RecordBatch
    at: np.ndarray

    def column(self, name: str) -> pa.Array:
        """A column of the answers; NULL where there is none."""
        return self.rows[name].take(pa.array(np.maximum(self.at, 0), mask=self.at < 0))

    def numbers(self, name: str) -> np.ndarray:
        """An int64 column of the answers; 0 where there is none."""
        stored = self.rows[name].to_numpy()
        return np.append(stored, 0)[self.at]


class KeyedTable:
    """Rows by key; `schema` starts with the hash, `key` names the columns that are compared."""

    def __init__(self, store: Store, name: str, schema: pa.Schema, key: Sequence[str], live: str) -> None:
        self._store = store
        self._runs: list[dict[str, Any]] = store.head.setdefault(name, [])
        self._schema = schema
        self._key = list(key)
        self._live = live

    def find(self, hashes: np.ndarray, key: Sequence[pa.Array]) -> Found:
        """The live row of each key."""
        at = np.full(len(hashes), -1, np.int64)
        pieces: list[pa.RecordBatch] = []
        open_ = np.arange(len(hashes))
        size = 0
        for run in reversed(self._runs):
            batch = self._store.get(run["run"])
            questions, rows = self._match(batch, hashes, key, open_)
            at[questions] = size + np.arange(len(rows))
            size += len(rows)
            pieces.append(batch.take(pa.array(rows)))
            open_ = open_[at[open_] < 0]
            if not len(open_):
                break
        return self._alive(pieces, at)

    def scan(self, low: np.ndarray, high: np.ndarray) -> pa.RecordBatch:
        """The live rows whose hash is in one of the intervals [low, high]."""
        pieces = []
        for run in reversed(self._runs):
            batch = self._store.get(run["run"])
            stored = batch[HASH].to_numpy()
            _, rows = _expand(np.searchsorted(stored, low), np.searchsorted(stored, high, "right"))
            pieces.append(batch.take(pa.array(rows)))
        return self._newest(pieces, keep_dead=False)

    def write(self, batch: pa.RecordBatch) -> None:
        """Replace the rows of these keys, each of which appears once."""
        if not batch.num_rows:
            return
        self._put(batch.take(pa.array(np.argsort(batch[HASH].to_numpy(), kind="stable"))))
        while (first := self._mergeable()) is not None:
            merged = self._runs[first:]
            batches = [self._store.get(run["run"]) for run in reversed(merged)]
            for run in merged:
                self._store.drop(run["run"])
            del self._runs[first:]
            self._put(self._newest(batches, keep_dead=first > 0))

    def _match(
        self, batch: pa.RecordBatch, hashes: np.ndarray, key: Sequence[pa.Array], open_: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        stored, wanted = batch[HASH].to_numpy(), hashes[open_]
        left, right = np.searchsorted(stored, wanted), np.searchsorted(stored, wanted, "right")
        asked, rows = _expand(left, right)
        questions = open_[asked]
        theirs = [batch[name].take(pa.array(rows)) for name in self._key]
        ours = [array.take(pa.array(questions)) for array in key]
        same = all_equal(ours, theirs, len(rows))
        return questions[same], rows[same]

    def _alive(self, pieces: list[pa.RecordBatch], at: np.ndarray) -> Found:
        rows = pa.concat_batches(pieces) if pieces else self._nothing()
        alive = np.append(rows[self._live].to_numpy() != 0, False)
        return Found(rows, np.where(alive[at], at, -1))

    def _newest(self, batches: list[pa.RecordBatch], keep_dead: bool) -> pa.RecordBatch:
        """The first row of each key, ordered by hash."""
        if not batches:
            return self._nothing()
        whole = pa.concat_batches(batches)
        groups = group_rows(whole[HASH].to_numpy(), [whole[name] for name in self._key])
        newest = whole.take(pa.array(groups.firsts))
        return newest if keep_dead else newest.filter(pc.not_equal(newest[self._live], 0))

    def _nothing(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([], schema=self._schema)

    def _mergeable(self) -> int | None:
        """The first of the latest runs that are no bigger than the last, if they are many.

        All are merged when the oldest, which alone can forget what is gone, has become the lesser part.
        """
        if not self._runs:
            return None
        newer = sum(run["rows"] for run in self._runs[1:])
        if newer > max(SMALL, 2 * self._runs[0]["rows"]):
            return 0
        tier = _tier(self._runs[-1]["rows"])
        first = len(self._runs)
        while first and _tier(self._runs[first - 1]["rows"]) <= tier:
            first -= 1
        return first if len(self._runs) - first >= FAN_IN else None

    def _put(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            self._runs.append({"run": self._store.put(batch), "rows": batch.num_rows})


def _tier(rows: int) -> int:
    """
    >>> [_tier(rows) for rows in (1, 511, 512, 4096)]
    [0, 0, 1, 2]
    """
    return max(0, (rows // SMALL).bit_length() + 2) // 3


def _expand(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each range [left, right) as pairs (number of the range, place in it)."""
    sizes = right - left
    owners = np.repeat(np.arange(len(sizes)), sizes)
    offsets = np.cumsum(sizes) - sizes
    return owners, np.arange(len(owners)) - offsets[owners] + left[owners]
