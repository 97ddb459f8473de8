"""A table of rows by key in a store: what is written last for a key counts.

The table is a list of runs, oldest first, each sorted by the key's hash. Writing puts a run of
what changed; runs of similar size are merged, so that few remain and a row is rewritten a
logarithmic number of times. A row whose `live` column is 0 says that its key is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from seine.operators.state.store import Store
from seine.rows.cheap_columns import Plain, arrow, join, pick, plain
from seine.rows.delta import FOREVER, NEVER
from seine.rows.grouping import all_equal, group_rows

FAN_IN = 8
SMALL = 512  # rows; runs below this are all of one size
TINY = 64  # rows; to write so many again costs less than to look into two more runs
HASH = "_k"


class KeyedMatches:
    """The rows that were found, and for each question the place of its answer among them, or -1."""

    def __init__(self, schema: pa.Schema, at: np.ndarray, pieces: list[_Piece]) -> None:
        self.at = at
        self._schema = schema
        self._pieces = pieces

    def rows(self, name: str) -> Plain:
        """A column of the rows that were found."""
        if not self._pieces:
            return plain(pa.nulls(0, self._schema.field(name).type))
        return reduce(join, [pick(plain(batch[name]), rows) for batch, _, rows in self._pieces])

    def column(self, name: str) -> pa.Array:
        """A column of the answers; NULL where there is none."""
        if not self._pieces or all(_is_empty(piece.batch[name]) for piece in self._pieces):
            return pa.nulls(len(self.at), self._schema.field(name).type)
        missing = self.at < 0
        if not missing.any():
            return arrow(pick(self.rows(name), self.at))
        return arrow(self.rows(name)).take(pa.array(np.maximum(self.at, 0), mask=missing))

    def numbers(self, name: str) -> np.ndarray:
        """An int64 column of the answers; 0 where there is none."""
        answers = np.zeros(len(self.at), np.int64)
        for batch, questions, rows in self._pieces:
            answers[questions] = batch[name].to_numpy().take(rows)
        return answers


class _Piece(NamedTuple):
    """What a run knows: its rows that answer questions."""

    batch: pa.RecordBatch
    questions: np.ndarray
    rows: np.ndarray


class KeyedTable:
    """Rows by key; `schema` starts with the hash, `key` names the columns that are compared."""

    def __init__(self, store: Store, name: str, schema: pa.Schema, key: Sequence[str], live: str) -> None:
        self._store = store
        self._runs: list[dict[str, Any]] = store.head.setdefault(name, [])
        self._schema = schema
        self._key = list(key)
        self._live = live

    def find(self, hashes: np.ndarray, key: Sequence[Plain]) -> KeyedMatches:
        """The live row of each key."""
        at = np.full(len(hashes), -1, np.int64)
        pieces: list[_Piece] = []
        open_: np.ndarray | None = None  # the questions without an answer; None if all
        size = 0
        for run in reversed(self._runs):
            batch = self._store.get(run["run"])
            questions, rows = self._match(batch, hashes, key, open_)
            if not len(rows):
                continue
            alive = np.flatnonzero(batch[self._live].to_numpy().take(rows))
            if len(alive):
                pieces.append(_Piece(batch, questions.take(alive), rows.take(alive)))
                at[pieces[-1].questions] = size + np.arange(len(alive))
                size += len(alive)
            open_ = _without(questions, open_, len(hashes))
            if not len(open_):
                break
        return KeyedMatches(self._schema, at, pieces)

    def everything(self) -> pa.RecordBatch:
        """All live rows."""
        return self.scan(np.array([NEVER]), np.array([FOREVER]))

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
        hashes = batch[HASH].to_numpy()
        if (hashes[1:] < hashes[:-1]).any():
            batch = batch.take(pa.array(np.argsort(hashes, kind="stable")))
        while batch.num_rows and (first := self._mergeable(batch.num_rows)) is not None:
            merged = self._runs[first:]
            older = [self._store.get(run["run"]) for run in reversed(merged)]
            for run in merged:
                self._store.drop(run["run"])
            del self._runs[first:]
            batch = self._newest([batch, *older], keep_dead=first > 0)
        if batch.num_rows:
            self._runs.append({"run": self._store.put(batch), "rows": batch.num_rows})

    def _match(
        self, batch: pa.RecordBatch, hashes: np.ndarray, key: Sequence[Plain], open_: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The open questions that a run answers, and the rows that do."""
        asked, rows = _equal_hashes(batch[HASH].to_numpy(), hashes if open_ is None else hashes[open_])
        questions = asked if open_ is None else open_[asked]
        if not len(rows):
            return questions, rows
        theirs = [pick(plain(batch[name]), rows) for name in self._key]
        ours = [pick(plain(column), questions) for column in key]
        same = all_equal(ours, theirs, len(rows))
        return (questions, rows) if same.all() else (questions[same], rows[same])

    def _newest(self, batches: list[pa.RecordBatch], keep_dead: bool) -> pa.RecordBatch:
        """The first row of each key, ordered by hash."""
        if not batches:
            return self._nothing()
        whole = pa.concat_batches(batches)
        groups = group_rows(whole[HASH].to_numpy(), [whole[name] for name in self._key])
        rows = groups.firsts
        if not keep_dead:
            rows = rows[whole[self._live].to_numpy().take(rows) != 0]
        return whole.take(pa.array(rows))

    def _nothing(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([], schema=self._schema)

    def _mergeable(self, rows: int) -> int | None:
        """The first of the latest runs that are no bigger than one of so many rows, if they are many.

        All are merged when the oldest, which alone can forget what is gone, has become the lesser part.
        """
        if not self._runs:
            return None
        newer = rows + sum(run["rows"] for run in self._runs[1:])
        if newer > max(SMALL, 2 * self._runs[0]["rows"]):
            return 0
        first = len(self._runs)
        if first > 1 and rows + self._runs[-1]["rows"] + self._runs[-2]["rows"] <= TINY:
            return first - 2
        tier = _tier(rows)
        while first and _tier(self._runs[first - 1]["rows"]) <= tier:
            first -= 1
        return first if len(self._runs) - first >= FAN_IN - 1 else None


def _tier(rows: int) -> int:
    """
    >>> [_tier(rows) for rows in (1, 511, 512, 4096)]
    [0, 0, 1, 2]
    """
    return max(0, (rows // SMALL).bit_length() + 2) // 3


def _is_empty(column: pa.Array) -> bool:
    return bool(column.null_count == len(column))


def _without(questions: np.ndarray, open_: np.ndarray | None, size: int) -> np.ndarray:
    """The open questions but those that are answered."""
    left = np.zeros(size, bool)
    left[slice(None) if open_ is None else open_] = True
    left[questions] = False
    return left.nonzero()[0]


def _equal_hashes(stored: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (question, row) of equal hashes."""
    left = np.searchsorted(stored, wanted)
    asked = np.flatnonzero(stored.take(left, mode="clip") == wanted)
    rows, hashes = left.take(asked), wanted.take(asked)
    more = stored.take(rows + 1, mode="clip") == hashes
    if not more[rows + 1 < len(stored)].any():
        return asked, rows
    owners, rows = _expand(rows, np.searchsorted(stored, hashes, "right"))
    return asked.take(owners), rows


def _expand(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each range [left, right) as pairs (number of the range, place in it)."""
    sizes = right - left
    owners = np.repeat(np.arange(len(sizes)), sizes)
    offsets = np.cumsum(sizes) - sizes
    return owners, np.arange(len(owners)) - offsets[owners] + left[owners]
