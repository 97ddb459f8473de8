"""Freeing documents that were kept for queries which have left.

A document is kept as long as the weakest T of the classes of its paths says when it comes. When a query with
a long T, or with none, is dropped, what it alone waited for is let go:

    q1 x = y, INF   q2 x = y, 5     documents with x are kept for ever
    q1 is dropped                   those of the last 5 stay

Law: afterwards an index row is kept no longer than the classes of now say, and a document no longer than its
index rows. Rows are only ever shortened: a query that comes later does not count documents from before.

All that is held is looked at, so it is done only after the reach of paths has changed, and for much state
only once as much again, in quarters, has come: a constant number of times for each document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from seine.algebra.arrays import IntArray
from seine.operators.documents.held_documents import INDEX_DOCUMENT, INDEX_PATTERN, HeldDocuments
from seine.operators.documents.join_classes import NO_TIME_BOUND, known_places, reach_of
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import SortedRun
from seine.operators.state.store import Store
from seine.rows.delta import FOREVER, NEVER

_NARROWED_AT_ONCE = 1_000  # documents that are looked at whenever reaches change
_PARTS_BETWEEN = 4  # of more, a quarter as many must have come in the meantime


class PathReach(NamedTuple):
    """How far in time partners may be of the patterns of one side, which ascend."""

    patterns: IntArray
    reach: IntArray

    def until(self, run: SortedRun) -> IntArray:
        """From when on each index row of a run is of no use."""
        until = np.full(run.rows, NEVER)
        patterns = run.batch[INDEX_PATTERN].to_numpy()
        places = known_places(patterns, self.patterns)
        later, starts = reach_of(patterns[places], self.patterns, self.reach), run.starts[places]
        is_open = (later >= NO_TIME_BOUND) | (starts > FOREVER - np.maximum(later, 0) - 1)
        until[places] = np.where(is_open, FOREVER, starts + later + 1)
        return until


NO_REACH = PathReach(np.zeros(0, np.int64), np.zeros(0, np.int64))


def digest_of(reaches: Iterable[PathReach]) -> str:
    """A text that changes whenever a reach does."""
    digest = hashlib.blake2b(digest_size=12)
    for one in reaches:
        for array in one:
            digest.update(f"{len(array)} ".encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def narrow(
    held: HeldDocuments, store: Store, port: int, sides: tuple[PathReach, PathReach], digest: str, came: int
) -> None:
    """Let go what the sides of a port, left and right, do not reach any more; `came` documents are new."""
    known = store.head.setdefault(f"reach{port}", [digest, 0])
    if known[0] == digest:
        return
    known[1] += came
    rows = held.documents.rows
    if rows > _NARROWED_AT_ONCE and known[1] * _PARTS_BETWEEN < rows:
        return
    store.head[f"reach{port}"] = [digest, 0]
    for runs, side in zip((held.left, held.right), sides, strict=True):
        runs.shorten(side.until)
    last = _last_use((held.left, held.right))
    held.documents.shorten(lambda run: _of_keys(run.keys, *last))


def _last_use(indexes: Iterable[Runs]) -> tuple[IntArray, IntArray]:
    """The documents that index rows name, ascending, and until when one of these is of use."""
    rows = [
        (run.batch[INDEX_DOCUMENT].to_numpy()[mask], run.until[mask])
        for runs in indexes
        for run, mask in runs.alive(NEVER)
    ]
    documents, until = (np.concatenate([np.zeros(0, np.int64), *(row[i] for row in rows)]) for i in (0, 1))
    known, places = np.unique(documents, return_inverse=True)
    last = np.full(len(known), NEVER)
    np.maximum.at(last, places, until)
    return known, last


def _of_keys(keys: IntArray, known: IntArray, last: IntArray) -> IntArray:
    until = np.full(len(keys), NEVER)
    if len(known):
        places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        hit = known[places] == keys
        until[hit] = last[places[hit]]
    return until
