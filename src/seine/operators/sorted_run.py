"""Rows sorted for probing: by the hash of their key, or by start of life where there is no key.

A run by key carries its index in two more columns. Hashes are spread evenly, so their leading
bits cut a run of n rows into slots of a row or two: `_b` has the places where slots begin. More
leading bits number the 8n to 16n bits of a filter, `_f`: most keys that are not in the run are
known by it at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pyarrow as pa

from seine.operators.delta import FOREVER
from seine.operators.pairs import Pairs, ranges

KEY, START, END, EARLY = "_k", "_s", "_e", "_d"
SLOTS, FILTER = "_b", "_f"
INDEX = [SLOTS, FILTER]


class SortedRun:
    """An immutable batch sorted by `_k` (then it has an index) or by `_s`; times are without NULL."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.keyed = SLOTS in batch.schema.names

    @staticmethod
    def of(batch: pa.RecordBatch, by: str) -> SortedRun:
        """Sort rows that have no index yet.

        >>> rows = pa.record_batch({"_k": [9, 3], "_s": [1, 2], "_e": [8, 8]})
        >>> SortedRun.of(rows, "_k").plain().to_pylist()
        [{'_k': 3, '_s': 2, '_e': 8}, {'_k': 9, '_s': 1, '_e': 8}]
        """
        order = batch[by].to_numpy()
        if (order[1:] < order[:-1]).any():
            batch = take_rows(batch, np.argsort(order))
        if by != KEY:
            return SortedRun(batch)
        for name, column in zip(INDEX, index_of(batch[KEY].to_numpy()), strict=True):
            batch = batch.append_column(name, pa.array(column))
        return SortedRun(batch)

    @property
    def rows(self) -> int:
        return int(self.batch.num_rows)

    @cached_property
    def keys(self) -> np.ndarray:
        return self.batch[KEY].to_numpy()

    @cached_property
    def starts(self) -> np.ndarray:
        return self.batch[START].to_numpy()

    @cached_property
    def ends(self) -> np.ndarray:
        return self.batch[END].to_numpy()

    @cached_property
    def life(self) -> int:
        """The longest natural life of a row; FOREVER if one is open."""
        if not self.rows or int(self.ends.max()) == FOREVER:
            return FOREVER
        return int((self.ends - self.starts).max())

    def plain(self) -> pa.RecordBatch:
        """The rows without the index."""
        return self.batch.drop_columns(INDEX) if self.keyed else self.batch

    def after(self, bound: int) -> SortedRun:
        """The rows that end after an instant."""
        alive = self.ends > bound
        if alive.all():
            return self
        return SortedRun.of(take_rows(self.plain(), np.flatnonzero(alive)), KEY if self.keyed else START)

    def matches(self, probe: SortedRun) -> Iterator[Pairs]:
        """Pairs (row of the probe, row of this run) of equal `_k` whose lives overlap, in chunks."""
        found = self.equal_keys(probe.keys) if self.keyed else ranges(*self._by_time(probe))
        for theirs, ours in found:
            start = np.maximum(probe.starts[theirs], self.starts[ours])
            end = np.minimum(probe.ends[theirs], self.ends[ours])
            pairs = Pairs(theirs, ours, start, end)
            together = start < end
            yield pairs if together.all() else pairs.where(together)

    def same_start(self, probe: pa.RecordBatch) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs (row of the probe, row of this run) of equal `_k` and `_s`."""
        keys, starts = probe[KEY].to_numpy(), probe[START].to_numpy()
        if self.keyed:
            found = self.equal_keys(keys)
        else:
            found = ranges(
                np.searchsorted(self.starts, starts), np.searchsorted(self.starts, starts, "right")
            )
        for theirs, ours in found:
            same = (keys[theirs] == self.keys[ours]) & (starts[theirs] == self.starts[ours])
            yield theirs[same], ours[same]

    def equal_keys(self, keys: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs (place of the key, row of this run) of equal `_k`, in chunks."""
        likely, low, high = self._slots_of(_places(keys))
        for asked, ours in ranges(low, high):
            asked = likely[asked]
            same = np.flatnonzero(keys[asked] == self.keys[ours])
            yield asked[same], ours[same]

    def _slots_of(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The keys that pass the filter, and the bounds of their slots."""
        if not self.rows:
            return (np.zeros(0, np.int64),) * 3
        bit = places >> (63 - _filter_bits(self.rows))
        packed = self.batch[FILTER].to_numpy().view(np.uint8)
        likely = np.flatnonzero((packed[bit >> 3] >> (bit & 7).astype(np.uint8)) & 1)
        if self.rows == 1:
            return likely, np.zeros(len(likely), np.int64), np.ones(len(likely), np.int64)
        begins = self.batch[SLOTS].to_numpy()
        slot = places[likely] >> (63 - _slot_bits(self.rows))
        return likely, begins[slot], begins[slot + 1]

    def _by_time(self, probe: SortedRun) -> tuple[np.ndarray, np.ndarray]:
        """The rows that start before the probing row ends, and not so early that they are over."""
        high = np.searchsorted(self.starts, probe.ends)
        if self.life > FOREVER >> 1:
            return np.zeros(len(high), np.int64), high
        return np.searchsorted(self.starts, probe.starts - self.life, "right"), high


def index_of(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns `_b` and `_f` of a run with these keys."""
    places = _places(keys)
    return _slot_begins(places), _filter(places)


def take_rows(batch: pa.RecordBatch, rows: np.ndarray) -> pa.RecordBatch:
    return batch.take(pa.array(rows))


def _places(keys: np.ndarray) -> np.ndarray:
    """Keys as numbers of 63 bits in the same order, so that shifting right leaves leading bits."""
    return ((keys.view(np.uint64) ^ np.uint64(1 << 63)) >> np.uint64(1)).view(np.int64)


def _slot_bits(rows: int) -> int:
    return (rows - 1).bit_length() - 1


def _filter_bits(rows: int) -> int:
    return (16 * rows).bit_length() - 1


def _slot_begins(places: np.ndarray) -> np.ndarray:
    """Where each slot begins, and where the last one ends; there are fewer slots than rows."""
    begins = np.zeros(len(places), np.int32)
    if len(places) > 1:
        bits = _slot_bits(len(places))
        counts = np.bincount(places >> (63 - bits), minlength=1 << bits)
        np.cumsum(counts, out=begins[1 : len(counts) + 1])
    return begins


def _filter(places: np.ndarray) -> np.ndarray:
    """One bit for each value of the leading bits, set if a row has it; 16 bits beside each row."""
    packed = np.zeros(2 * len(places), np.uint8)
    if len(places):
        bits = _filter_bits(len(places))
        flags = np.zeros(1 << bits, bool)
        flags[places >> (63 - bits)] = True
        packed[: len(flags) >> 3] = np.packbits(flags, bitorder="little")
    return packed.view(np.uint16)
