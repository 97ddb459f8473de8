"""Tuples that a step of a search has met, by local number, as arrays.

    number   id  start  end  table  epoch     terms      places
    0        71      5   15      2      0     3          h1 h2
    1        12      4   14      0      0                h3

Ids ascend in the order of arrival: of two tuples the one with the larger id came later. Tuples of relations
have negative ids; `valid_from` and `valid_to` say at which times of stream tuples they count, and `first` is
the start of a stream tuple.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.search.searches import Searches
from seine.operators.search.watched_schema import EPOCH, KEYS, PLACES, SIDES, TABLE, TERMS, list_values
from seine.rows.column_arrays import as_lists
from seine.rows.delta import FOREVER, NEVER
from seine.rows.grouping import ranges

ID = "_id"
CARRIED = [ID, "_s", "_e", TABLE, EPOCH, TERMS, PLACES, SIDES, KEYS]
_NUMBERS = np.zeros(0, np.int64)


class KnownTuples:
    """Grows as tuples are met; a tuple is known once."""

    def __init__(self, searches: Searches, sides: IntArray) -> None:
        """`sides` are those of the edges that there are, ascending: others are not gone along."""
        self._searches, self._sides = searches, sides
        self.id = self.start = self.end = self.table = self.epoch = _NUMBERS
        self.first = self.valid_from = self.valid_to = _NUMBERS
        self._sorted_ids = self._by_id = _NUMBERS
        self._term_keys = _NUMBERS  # tuple * number of terms + term, ascending
        self._place_at = np.zeros(1, np.int64)
        self._places = self._place_sides = _NUMBERS
        self._keys = pa.array([], pa.string())
        self.worded = np.zeros(0, bool)  # whether a tuple has a term

    def __len__(self) -> int:
        return len(self.id)

    def numbers(self, batch: pa.RecordBatch) -> IntArray:
        """The local numbers of tuples, which are known from now on; rows of a batch may repeat a tuple."""
        return self.numbers_at(batch, np.arange(batch.num_rows))

    def numbers_at(self, batch: pa.RecordBatch, rows: IntArray) -> IntArray:
        """The local numbers of tuples at some rows of a batch; what is known of a tuple is not read again."""
        ids = batch[ID].to_numpy()[rows]
        unseen = np.flatnonzero(~self._is_known(ids))
        if len(unseen):
            _, firsts = np.unique(ids[unseen], return_index=True)
            self._add(batch.select(CARRIED).take(pa.array(rows[unseen[firsts]])))
        known: IntArray = self._by_id[np.searchsorted(self._sorted_ids, ids)]
        return known

    def _is_known(self, ids: IntArray) -> BoolArray:
        if not len(self._sorted_ids):
            return np.zeros(len(ids), bool)
        places = np.searchsorted(self._sorted_ids, ids).clip(max=len(self._sorted_ids) - 1)
        known: BoolArray = self._sorted_ids[places] == ids
        return known

    def _add(self, batch: pa.RecordBatch) -> None:
        first = len(self)
        ids, start, end = (batch[name].to_numpy() for name in (ID, "_s", "_e"))
        self.id = np.concatenate([self.id, ids])
        self._add_lives(ids < 0, start, end)
        self.table = np.concatenate([self.table, self._searches.table_places(batch[TABLE].to_numpy())])
        self.epoch = np.concatenate([self.epoch, batch[EPOCH].to_numpy()])
        self._by_id = np.argsort(self.id, kind="stable")  # ids are ascending runs: these are merged
        self._sorted_ids = self.id[self._by_id]
        self._add_terms(batch[TERMS], first)
        self._add_places(batch)

    def _add_lives(self, static: BoolArray, start: IntArray, end: IntArray) -> None:
        """Lives of tuples; one of a relation is always alive, and what it has instead is when it is valid."""
        self.start = np.concatenate([self.start, np.where(static, NEVER, start)])
        self.end = np.concatenate([self.end, np.where(static, FOREVER, end)])
        self.first = np.concatenate([self.first, np.where(static, FOREVER, start)])
        self.valid_from = np.concatenate([self.valid_from, np.where(static, start, NEVER)])
        self.valid_to = np.concatenate([self.valid_to, np.where(static, end, FOREVER)])

    def _add_terms(self, terms: pa.Array, first: int) -> None:
        lengths, numbers = list_values(terms)
        owners = np.repeat(np.arange(first, first + len(lengths)), lengths)
        wanted = self._searches.terms
        places = np.searchsorted(wanted, numbers).clip(max=max(len(wanted) - 1, 0))
        hits = wanted[places] == numbers if len(wanted) else np.zeros(len(numbers), bool)
        keys = owners[hits] * len(wanted) + places[hits]
        self._term_keys = np.concatenate([self._term_keys, keys])
        worded = np.zeros(len(lengths), bool)
        worded[owners[hits] - first] = True
        self.worded = np.concatenate([self.worded, worded])

    def _add_places(self, batch: pa.RecordBatch) -> None:
        lengths, places = list_values(batch[PLACES])
        _, sides = list_values(batch[SIDES])
        owners = np.repeat(np.arange(len(lengths)), lengths)
        kept = np.flatnonzero(np.isin(sides, self._sides))
        counts = np.bincount(owners[kept], minlength=len(lengths))
        self._place_at = np.concatenate([self._place_at, self._place_at[-1] + np.cumsum(counts)])
        self._places = np.concatenate([self._places, places[kept]])
        self._place_sides = np.concatenate([self._place_sides, sides[kept]])
        self._keys = pa.concat_arrays([self._keys, as_lists(batch[KEYS]).flatten().take(pa.array(kept))])

    def places(self, tuples: IntArray) -> tuple[IntArray, IntArray]:
        """All places of tuples: which of the tuples has it, and the place."""
        owners, at = self.place_numbers(tuples)
        return owners, self._places[at]

    def joined_places(self, tuples: IntArray) -> tuple[IntArray, IntArray, IntArray, pa.Array]:
        """All places of tuples: which of the tuples has it, the place, its side, and its key as text."""
        owners, at = self.place_numbers(tuples)
        return owners, self._places[at], self._place_sides[at], self._keys.take(pa.array(at))

    def place_numbers(self, tuples: IntArray) -> tuple[IntArray, IntArray]:
        """All places of tuples: which of the tuples has it, and where it is among those of all tuples."""
        low = self._place_at[tuples]
        counts = self._place_at[tuples + 1] - low
        owners = np.repeat(np.arange(len(tuples)), counts)
        shift = low - (np.cumsum(counts) - counts)
        return owners, np.arange(len(owners)) + shift[owners]

    @property
    def all_places(self) -> IntArray:
        """The places of all tuples that are known, one after another."""
        return self._places

    def terms(self, tuples: IntArray) -> tuple[IntArray, IntArray]:
        """All terms of tuples: which of the tuples has it, and the term, as a place in `Searches.terms`."""
        width = len(self._searches.terms)
        low = np.searchsorted(self._term_keys, tuples * width)
        high = np.searchsorted(self._term_keys, (tuples + 1) * width)
        pieces = [*ranges(low, high)]
        owners = np.concatenate([piece[0] for piece in pieces]) if pieces else _NUMBERS
        at = np.concatenate([piece[1] for piece in pieces]) if pieces else _NUMBERS
        return owners, self._term_keys[at] % max(width, 1)

    def has_term(self, tuples: IntArray, terms: IntArray) -> BoolArray:
        """Whether tuples have terms, pair by pair."""
        if not len(self._term_keys):
            return np.zeros(len(tuples), bool)
        keys = tuples * len(self._searches.terms) + terms
        places = np.searchsorted(self._term_keys, keys).clip(max=len(self._term_keys) - 1)
        has: BoolArray = self._term_keys[places] == keys
        return has

    def masks(self, tuples: IntArray, queries: IntArray) -> IntArray:
        """Which terms of a query a tuple has, as bits, pair by pair."""
        masks = np.zeros(len(tuples), np.int64)
        rows = np.flatnonzero(self.worded[tuples])
        words = self._searches.words
        for bit in range(words.shape[1]):
            term = words[queries[rows], bit]
            there = np.flatnonzero(term >= 0)
            has = self.has_term(tuples[rows[there]], term[there])
            masks[rows[there[has]]] |= np.int64(1) << bit
        return masks


def equal_texts(left: pa.Array, right: pa.Array) -> BoolArray:
    """Whether keys agree: as texts, where both have one; hashes have decided about others."""
    same: BoolArray = pc.fill_null(pc.equal(left, right), True).to_numpy(zero_copy_only=False)
    return same
