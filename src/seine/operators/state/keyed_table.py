"""Keyed state: a log-structured merge tree of rows by key, in which the last write of a key wins.

The table is a list of immutable runs, oldest first, each sorted by the key's hash. A write puts a run of
what changed; runs of similar size are merged, so that few remain and a row is rewritten a logarithmic
number of times. A row whose `live` column is 0 is a tombstone: its key is deleted.

    oldest  [h1 h3 h4 h7 h9 ...]      lookup(h3): newest run first, the first hit answers
            [h3 h8]
    newest  [h4* h5]                  h4* has live = 0: deleted, whatever older runs say

Law: `find` gives for each key the last row written for it, unless that is a tombstone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.state.store import Store
from seine.rows.column_arrays import ColumnArray, as_arrow, as_column, concat_columns, take_values
from seine.rows.delta import FOREVER, NEVER, concat_batches
from seine.rows.grouping import all_equal, group_rows

MERGED_RUNS = 8  # runs of one tier, the new one among them, that are merged into one
TIER_ROWS = 512  # rows below which runs are all of tier 0
FREELY_MERGED_ROWS = 64  # rows; rewriting so many costs less than probing two more runs
HASH = "_k"


class KeyedMatches:
    """The hits of a lookup; `at` is, for each probed key, the place of its row among the hits, or -1."""

    def __init__(self, schema: pa.Schema, at: IntArray, pieces: list[_RunHits]) -> None:
        self.at = at
        self._schema = schema
        self._pieces = pieces

    def rows(self, name: str) -> ColumnArray:
        """A column of the hits."""
        if not self._pieces:
            return as_column(pa.nulls(0, self._schema.field(name).type))
        return reduce(
            concat_columns, [take_values(as_column(batch[name]), rows) for batch, _, rows in self._pieces]
        )

    def column(self, name: str) -> pa.Array:
        """A column of the hits, one value for each probed key; NULL where there is no hit."""
        if not self._pieces or all(_is_empty(piece.batch[name]) for piece in self._pieces):
            return pa.nulls(len(self.at), self._schema.field(name).type)
        missing = self.at < 0
        if not missing.any():
            return as_arrow(take_values(self.rows(name), self.at))
        return as_arrow(self.rows(name)).take(pa.array(np.maximum(self.at, 0), mask=missing))

    def numbers(self, name: str) -> IntArray:
        """An int64 column of the hits, one value for each probed key; 0 where there is no hit."""
        values = np.zeros(len(self.at), np.int64)
        for batch, probed, rows in self._pieces:
            values[probed] = batch[name].to_numpy().take(rows)
        return values


class _RunHits(NamedTuple):
    """The hits of one run: the places of the probed keys, and the rows of the batch that have them."""

    batch: pa.RecordBatch
    probed: IntArray
    rows: IntArray


class KeyedTable:
    """Rows by key, kept under `store.head[name]`.

    `schema` starts with the hash, `key` names the columns that are compared, `live` the one that is 0 in
    a tombstone.
    """

    def __init__(self, store: Store, name: str, schema: pa.Schema, key: Sequence[str], live: str) -> None:
        self._store = store
        self._runs: list[dict[str, Any]] = store.head.setdefault(name, [])
        self._schema = schema
        self._key = list(key)
        self._live = live

    def find(self, hashes: IntArray, key: Sequence[ColumnArray]) -> KeyedMatches:
        """Look up the live row of each key."""
        at = np.full(len(hashes), -1, np.int64)
        pieces: list[_RunHits] = []
        open_: IntArray | None = None  # the keys not decided by a newer run; None if all
        size = 0
        for run in reversed(self._runs):
            batch = self._store.get(run["run"])
            probed, rows = self._match(batch, hashes, key, open_)
            if not len(rows):
                continue
            alive = np.flatnonzero(batch[self._live].to_numpy().take(rows))
            if len(alive):
                pieces.append(_RunHits(batch, probed.take(alive), rows.take(alive)))
                at[pieces[-1].probed] = size + np.arange(len(alive))
                size += len(alive)
            open_ = _without(probed, open_, len(hashes))
            if not len(open_):
                break
        return KeyedMatches(self._schema, at, pieces)

    def everything(self) -> pa.RecordBatch:
        """All live rows."""
        return self.scan(np.array([NEVER]), np.array([FOREVER]))

    def scan(self, low: IntArray, high: IntArray) -> pa.RecordBatch:
        """The live rows whose hash is in one of the intervals [low, high]."""
        pieces = []
        for run in reversed(self._runs):
            batch = self._store.get(run["run"])
            stored = batch[HASH].to_numpy()
            _, rows = _expand(np.searchsorted(stored, low), np.searchsorted(stored, high, "right"))
            pieces.append(batch.take(pa.array(rows)))
        return self._newest(pieces, keep_tombstones=False)

    def write(self, batch: pa.RecordBatch) -> None:
        """Upsert rows; each key appears once."""
        if not batch.num_rows:
            return
        hashes = batch[HASH].to_numpy()
        if (hashes[1:] < hashes[:-1]).any():
            batch = batch.take(pa.array(np.argsort(hashes, kind="stable")))
        while batch.num_rows and (first := self._mergeable(batch.num_rows)) is not None:
            merged = self._runs[first:]
            older = [self._store.get(run["run"]) for run in reversed(merged)]
            for run in merged:
                self._store.drop(run["run"])
            del self._runs[first:]
            batch = self._newest([batch, *older], keep_tombstones=first > 0)
        if batch.num_rows:
            self._runs.append({"run": self._store.put(batch), "rows": batch.num_rows})

    def shrink(self, live: int) -> None:
        """Forget what is deleted, if it is most of the table; about so many rows are alive."""
        if sum(run["rows"] for run in self._runs) > 4 * live + (TIER_ROWS if live else 0):
            alive = self.everything()
            for run in self._runs:
                self._store.drop(run["run"])
            self._runs.clear()
            self.write(alive)

    def _match(
        self, batch: pa.RecordBatch, hashes: IntArray, key: Sequence[ColumnArray], open_: IntArray | None
    ) -> tuple[IntArray, IntArray]:
        """The open keys that a run has, by place, and its rows with them."""
        places, rows = _equal_hashes(batch[HASH].to_numpy(), hashes if open_ is None else hashes[open_])
        probed = places if open_ is None else open_[places]
        if not len(rows):
            return probed, rows
        stored_key = [take_values(as_column(batch[name]), rows) for name in self._key]
        probed_key = [take_values(as_column(column), probed) for column in key]
        same = all_equal(probed_key, stored_key, len(rows))
        return (probed, rows) if same.all() else (probed[same], rows[same])

    def _newest(self, batches: list[pa.RecordBatch], keep_tombstones: bool) -> pa.RecordBatch:
        """The first row of each key, in batches newest first; ordered by hash."""
        if not batches:
            return self._nothing()
        if any(batch.schema.names != self._schema.names for batch in batches):
            batches = [*batches, self._nothing()]  # an older state lacks a column
        whole = concat_batches(batches)
        groups = group_rows(whole[HASH].to_numpy(), [whole[name] for name in self._key])
        rows = groups.firsts
        if not keep_tombstones:
            rows = rows[whole[self._live].to_numpy().take(rows) != 0]
        return whole.take(pa.array(rows))

    def _nothing(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([], schema=self._schema)

    def _mergeable(self, rows: int) -> int | None:
        """Where the newest runs begin that are to be merged with a new run of so many rows; None if none are.

        Merged are the newest runs of at most the new one's tier, if they are many. All runs are merged
        when the oldest has become the lesser part: only in it may tombstones be dropped.
        """
        if not self._runs:
            return None
        newer = rows + sum(run["rows"] for run in self._runs[1:])
        if newer > max(TIER_ROWS, 2 * self._runs[0]["rows"]):
            return 0
        first = len(self._runs)
        if first > 1 and rows + self._runs[-1]["rows"] + self._runs[-2]["rows"] <= FREELY_MERGED_ROWS:
            return first - 2
        tier = _tier(rows)
        while first and _tier(self._runs[first - 1]["rows"]) <= tier:
            first -= 1
        return first if len(self._runs) - first >= MERGED_RUNS - 1 else None


def _tier(rows: int) -> int:
    """The size class of a run: each is eight times as large as the one before.

    >>> [_tier(rows) for rows in (1, 511, 512, 4096)]
    [0, 0, 1, 2]
    """
    return max(0, (rows // TIER_ROWS).bit_length() + 2) // 3


def _is_empty(column: pa.Array) -> bool:
    return bool(column.null_count == len(column))


def _without(decided: IntArray, open_: IntArray | None, size: int) -> IntArray:
    """The open keys less those that are decided."""
    left = np.zeros(size, bool)
    left[slice(None) if open_ is None else open_] = True
    left[decided] = False
    return left.nonzero()[0]


def _equal_hashes(stored: IntArray, probed: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs (probed key, stored row) of equal hashes; `stored` ascends."""
    left = np.searchsorted(stored, probed)
    hits = np.flatnonzero(stored.take(left, mode="clip") == probed)
    rows, hashes = left.take(hits), probed.take(hits)
    more = stored.take(rows + 1, mode="clip") == hashes
    if not more[rows + 1 < len(stored)].any():
        return hits, rows
    owners, rows = _expand(rows, np.searchsorted(stored, hashes, "right"))
    return hits.take(owners), rows


def _expand(left: IntArray, right: IntArray) -> tuple[IntArray, IntArray]:
    """Each range [left, right) as pairs (number of the range, place in it)."""
    sizes = right - left
    owners = np.repeat(np.arange(len(sizes)), sizes)
    offsets = np.cumsum(sizes) - sizes
    return owners, np.arange(len(owners)) - offsets[owners] + left[owners]
