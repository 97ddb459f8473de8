"""The state of a document join: documents by identity, and an index of their witnesses by string value.

    docs0    _k hash of the identity   _s _e _u   content, identity, arrival, patterns, values
    left0    _k hash of a value        _s _e _u   pattern, document (its _k)     documents as left operands
    right0   ...                                                               ... as right operands

An index is sorted by value, within a value by pattern, and within that by time (`pair_candidates.py`).

One such set for each port. A document is held in one bucket and as long as one of its index rows may still
meet a partner: `_u` of an index row is its time and the weakest T of the classes of its pattern. So one query
without a bound widens what is kept for the patterns that it joins, and no others.

Differs: MMQJP's R_doc, R_bin are never purged (Algorithm 2); R_L sliced by string value (5) is this index,
shared by all templates.

Freeing documents that were kept for queries which have left.

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
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.documents.join_classes import NO_TIME_BOUND, PATTERN_BITS, known_places, reach_of
from seine.operators.documents.operand_rows import PATTERNS, VALUES, column
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import KEY, START, UNTIL, SortedRun, take_rows
from seine.operators.state.store import Store
from seine.rows.column_arrays import as_lists
from seine.rows.delta import FOREVER, NEVER
from seine.rows.hashing import mix

INDEX_PATTERN, INDEX_DOCUMENT = "c0", "c1"
_WITHIN = (INDEX_PATTERN, START)  # how rows of one value are ordered


class FlatWitnesses(NamedTuple):
    """The witnesses of documents, flat: the place of the document, the pattern, the hash of the value.

    Documents are in order, so those of one are side by side.
    """

    document: IntArray
    pattern: IntArray
    value: IntArray

    @staticmethod
    def of(batch: pa.RecordBatch) -> FlatWitnesses:
        """Those of a batch of operands."""
        patterns, values = (as_lists(batch[column(one)]) for one in (PATTERNS, VALUES))
        counts = np.diff(patterns.offsets.to_numpy())
        documents = np.repeat(np.arange(batch.num_rows), counts)
        return FlatWitnesses(documents, patterns.flatten().to_numpy(), values.flatten().to_numpy())

    def take(self, places: IntArray) -> FlatWitnesses:
        return FlatWitnesses(self.document[places], self.pattern[places], self.value[places])

    def distinct(self) -> FlatWitnesses:
        """Each once: strings of one document may share a hash. Mostly all differ, and one sort says so."""
        codes = mix(((self.document << PATTERN_BITS) | self.pattern).view(np.uint64))
        hashes = np.sort(codes + self.value.view(np.uint64))
        if not (hashes[1:] == hashes[:-1]).any():
            return self
        order = np.lexsort((self.value, self.pattern, self.document))
        rows = self.take(order)
        new = np.ones(len(order), bool)
        new[1:] = np.logical_or.reduce([one[1:] != one[:-1] for one in rows])
        return rows.take(np.flatnonzero(new))

    def at(self, documents: IntArray) -> FlatWitnesses:
        """The witnesses of a list of documents, by place, in which one may stand several times."""
        low = np.searchsorted(self.document, documents)
        high = np.searchsorted(self.document, documents, "right")
        counts = high - low
        places = np.repeat(low - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
        return FlatWitnesses(
            np.repeat(np.arange(len(documents)), counts), self.pattern[places], self.value[places]
        )


class NewDocuments:
    """Operands that arrived at one port in one step."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.keys: IntArray = batch[KEY].to_numpy()
        self.starts: IntArray = batch[START].to_numpy()
        self.ends: IntArray = batch["_e"].to_numpy()
        self.witnesses = FlatWitnesses.of(batch).distinct()

    def index(
        self, patterns: IntArray, reach: IntArray, chosen: IntArray, bound: int | None = None
    ) -> SortedRun:
        """The index of chosen documents: each row with the time until which a partner may come.

        With a bound, rows that are of no use after it are left out.
        """
        document, pattern, value = self.witnesses.take(self._places(patterns, chosen))
        starts, ends = self.starts[document], self.ends[document]
        later = reach_of(pattern, patterns, reach)
        open_ = (later >= NO_TIME_BOUND) | (starts > FOREVER - np.maximum(later, 0) - 1)
        until = np.minimum(ends, np.where(open_, FOREVER, starts + later + 1))
        columns: tuple[IntArray, ...] = (spread(value), starts, ends, pattern, self.keys[document], until)
        names = [KEY, START, "_e", INDEX_PATTERN, INDEX_DOCUMENT, UNTIL]
        if bound is not None:
            alive = until > bound
            columns = tuple(one[alive] for one in columns)
        rows = pa.RecordBatch.from_arrays([pa.array(one) for one in columns], names)
        return SortedRun.of(rows, KEY, _WITHIN)

    def _places(self, patterns: IntArray, chosen: IntArray) -> IntArray:
        places = known_places(self.witnesses.pattern, patterns)
        mask = np.zeros(self.batch.num_rows, bool)
        mask[chosen] = True
        return places[mask[self.witnesses.document[places]]]


class NewIndexes(NamedTuple):
    """The indexes of new documents as left operands and as right ones, where they are such."""

    left: SortedRun | None
    right: SortedRun | None


def spread(values: IntArray) -> IntArray:
    """Hashes of values, as keys of runs: these want their leading bits even."""
    return mix(values.view(np.uint64)).view(np.int64)


class HeldDocuments:
    """What one port of a document join holds in one bucket."""

    def __init__(self, store: Store, port: int) -> None:
        self.documents = Runs(store, f"docs{port}")
        self.left = Runs(store, f"left{port}", KEY, _WITHIN)
        self.right = Runs(store, f"right{port}", KEY, _WITHIN)

    def add(self, new: NewDocuments, home: IntArray, indexes: NewIndexes, bound: int) -> None:
        """Keep the documents at `home` as long as one of their index rows is of use after the bound."""
        until = np.full(new.batch.num_rows, np.iinfo(np.int64).min)
        order = np.argsort(new.keys, kind="stable")
        for runs, run in ((self.left, indexes.left), (self.right, indexes.right)):
            if run is not None:
                kept = run.after(bound)
                at = order[np.searchsorted(new.keys[order], kept.batch[INDEX_DOCUMENT].to_numpy())]
                np.maximum.at(until, at, kept.until)
                runs.add(kept)
        stay = home[until[home] > bound]
        if len(stay):
            rows = take_rows(new.batch, stay).append_column(UNTIL, pa.array(until[stay]))
            self.documents.add(SortedRun.of(rows, KEY))

    def settle(self, bound: int) -> None:
        """Purge what no partner can come for."""
        for runs in (self.documents, self.left, self.right):
            runs.settle(bound)

    def find(self, keys: IntArray, columns: list[str]) -> Iterator[tuple[IntArray, pa.RecordBatch]]:
        """The documents of keys: places among the keys, and these columns of the documents there."""
        for run in self.documents.overlapping():
            for places, rows in run.equal_keys(keys):
                if len(places):
                    yield places, take_rows(run.batch.select(columns), rows)


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
