"""Rows sorted for probing: by the hash of their key, or by start of life where there is no key.

A run by key carries its index in two more columns. Hashes are spread evenly, so their leading
bits cut a run of n rows into slots of a row or two: `_b` has the places where slots begin, and within a
slot the order means nothing. More leading bits number the 8n to 16n bits of a filter, `_f`: most
keys that are not in the run are known by it at once. No more than 32 leading bits are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pyarrow as pa

from seine.rows.delta import FOREVER
from seine.rows.pairs import Pairs, ranges

KEY, START, END, EARLY = "_k", "_s", "_e", "_d"
UNTIL = "_u"  # when a row is of no more use, where that may be before its end
SLOTS, FILTER = "_b", "_f"
INDEX = [SLOTS, FILTER]
_BITS = 1 << np.arange(8, dtype=np.uint8)
_DEEP = 16  # rows of a slot; more of them are formed into pairs at once


class ProbeKeys:
    """Keys to look for in many runs: what is the same for runs of similar size is made once."""

    def __init__(self, keys: np.ndarray) -> None:
        self.keys = keys
        self.leads = leads_of(keys)
        self._filter_bits: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def filter_bits(self, bits: int) -> tuple[np.ndarray, np.ndarray]:
        """The byte of each key in a filter of 2**bits bits, and its bit there."""
        if bits not in self._filter_bits:
            number = self.leads >> (32 - bits)
            self._filter_bits[bits] = number >> 3, _BITS[number & 7]
        return self._filter_bits[bits]


class SortedRun:
    """An immutable batch by slots of `_k` (then it has an index) or sorted by `_s`; times have no NULL."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.keyed = SLOTS in batch.schema.names

    @staticmethod
    def of(batch: pa.RecordBatch, by: str) -> SortedRun:
        """Sort rows that have no index yet.

        >>> rows = pa.record_batch({"_k": [2**62, -(2**62)], "_s": [1, 2], "_e": [8, 8]})
        >>> SortedRun.of(rows, "_k").starts.tolist(), SortedRun.of(rows, "_s").starts.tolist()
        ([2, 1], [1, 2])
        """
        values = batch[by].to_numpy()
        order = _order_by_slot(values) if by == KEY else _order(values)
        if order is not None:
            batch = take_rows(batch, order)
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
    def asked(self) -> ProbeKeys:
        return ProbeKeys(self.keys)

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

    @cached_property
    def until(self) -> np.ndarray:
        """From when on rows are of no use: from their end on, or earlier."""
        return self.batch[UNTIL].to_numpy() if UNTIL in self.batch.schema.names else self.ends

    def plain(self) -> pa.RecordBatch:
        """The rows without the index."""
        return self.batch.drop_columns(INDEX) if self.keyed else self.batch

    def after(self, bound: int) -> SortedRun:
        """The rows that are of use after an instant."""
        alive = self.until > bound
        if alive.all():
            return self
        return SortedRun.of(take_rows(self.plain(), np.flatnonzero(alive)), KEY if self.keyed else START)

    def matches(self, probe: SortedRun) -> Iterator[Pairs]:
        """Pairs (row of the probe, row of this run) of equal `_k` whose lives overlap, in chunks."""
        found = self._matching(probe.asked) if self.keyed else ranges(*self._by_time(probe))
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
        return self._matching(ProbeKeys(keys))

    def _matching(self, asked: ProbeKeys) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        likely, low, high = self._slots_of(asked)
        deepest = int((high - low).max()) if len(likely) else 0
        if deepest <= _DEEP:
            yield self._by_depth(asked.keys, likely, low, high)
            return
        for numbers, ours in ranges(low, high):
            theirs = likely[numbers]
            same = np.flatnonzero(asked.keys[theirs] == self.keys[ours])
            yield theirs[same], ours[same]

    def _by_depth(
        self, keys: np.ndarray, theirs: np.ndarray, place: np.ndarray, end: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The first rows of all slots, then the second ones, and so on: slots are short."""
        found: list[tuple[np.ndarray, np.ndarray]] = []
        inside = np.flatnonzero(place < end)
        while len(inside):
            theirs, place, end = theirs.take(inside), place.take(inside), end.take(inside)
            same = np.flatnonzero(self.keys.take(place) == keys.take(theirs))
            found.append((theirs.take(same), place.take(same)))
            place = place + 1
            inside = np.flatnonzero(place < end)
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])

    def _slots_of(self, asked: ProbeKeys) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The keys that pass the filter, and the bounds of their slots."""
        if not self.rows:
            return (np.zeros(0, np.int64),) * 3
        byte, bit = asked.filter_bits(filter_width(self.rows))
        packed = self.batch[FILTER].to_numpy().view(np.uint8)
        likely = np.flatnonzero((packed.take(byte) & bit).astype(bool))
        if self.rows == 1:
            return likely, np.zeros(len(likely), np.int64), np.ones(len(likely), np.int64)
        begins = self.batch[SLOTS].to_numpy()
        slot = asked.leads.take(likely) >> (32 - slot_bits(self.rows))
        return likely, begins.take(slot).astype(np.int64), begins.take(slot + 1).astype(np.int64)

    def _by_time(self, probe: SortedRun) -> tuple[np.ndarray, np.ndarray]:
        """The rows that start before the probing row ends, and not so early that they are over."""
        high = np.searchsorted(self.starts, probe.ends)
        if self.life > FOREVER >> 1:
            return np.zeros(len(high), np.int64), high
        return np.searchsorted(self.starts, probe.starts - self.life, "right"), high


def index_of(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns `_b` and `_f` of a run with these keys."""
    leads = leads_of(keys)
    return _slot_begins(leads), _filter(leads)


def take_rows(batch: pa.RecordBatch, rows: np.ndarray) -> pa.RecordBatch:
    return batch.take(pa.array(rows))


def leads_of(keys: np.ndarray) -> np.ndarray:
    """The 32 leading bits of keys as numbers from 0 on, in the order of keys."""
    return (keys >> 32) + (1 << 31)


def _order(values: np.ndarray) -> np.ndarray | None:
    """The order that sorts values; None if they are in it."""
    return np.argsort(values) if (values[1:] < values[:-1]).any() else None


def _order_by_slot(keys: np.ndarray) -> np.ndarray | None:
    """The order that brings slots together; None if they are. Numbers of 16 bits are sorted by counting."""
    leads = leads_of(keys)
    high = (leads >> 16).astype(np.uint16)
    if slot_bits(len(keys)) <= 16:
        return None if (high[1:] >= high[:-1]).all() else np.argsort(high, kind="stable")
    if (leads[1:] >= leads[:-1]).all():
        return None
    order = np.argsort(leads.astype(np.uint16), kind="stable")
    return order[np.argsort(high[order], kind="stable")]


def slot_bits(rows: int) -> int:
    return min((rows - 1).bit_length() - 1, 32)


def filter_width(rows: int) -> int:
    return min((16 * rows).bit_length() - 1, 32)


def _slot_begins(leads: np.ndarray) -> np.ndarray:
    """Where each slot begins, and where the last one ends; there are fewer slots than rows."""
    begins = np.zeros(len(leads), np.int32)
    if len(leads) > 1:
        bits = slot_bits(len(leads))
        counts = np.bincount(leads >> (32 - bits), minlength=1 << bits)
        np.cumsum(counts, out=begins[1 : len(counts) + 1])
    return begins


def _filter(leads: np.ndarray) -> np.ndarray:
    """One bit for each value of the leading bits, set if a row has it; 16 bits beside each row."""
    packed = np.zeros(2 * len(leads), np.uint8)
    if len(leads):
        bits = filter_width(len(leads))
        flags = np.zeros(1 << bits, bool)
        flags[leads >> (32 - bits)] = True
        packed[: len(flags) >> 3] = np.packbits(flags, bitorder="little")
    return packed.view(np.uint16)
