"""A sorted run: an immutable batch of rows with an index for probing, by key hash or by start time.

A run by key is an array-packed hash table with a Bloom-like filter, both stored as two more columns. Hashes
are spread evenly, so their leading bits cut a run of n rows into slots of a row or two: `_b` has the places
where slots begin, and within a slot the order means nothing. More leading bits number the 8n to 16n bits of
the filter `_f` (one hash function, so false positives of at most one in eight): most keys that are not in
the run are rejected by it at once. No more than 32 leading bits are looked at.

    probe key --> filter bit of _f --0--> no match
                        |1
                        v
                  slot = leading bits --> rows _b[slot] .. _b[slot + 1]: compare _k

A run of rows without a key is sorted by `_s` and probed by binary search.

Where ranges of equal keys are wanted, a run is sorted by the whole key, and further columns *within* it:
`key_ranges` then gives the rows of a key without a look at each of them.

Law: `matches` gives every pair of a probing row and a row of the run that have equal `_k` and whose lifetimes
overlap, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, IntArray
from seine.operators.state.work_budget import spend_candidates
from seine.rows.delta import FOREVER, NEVER
from seine.rows.grouping import Pairs, ranges

KEY, START, END, EARLY = "_k", "_s", "_e", "_d"
UNTIL = "_u"  # from when on a row is of no use, where that may be before its end
SLOTS, FILTER = "_b", "_f"
INDEX = [SLOTS, FILTER]
_BITS = 1 << np.arange(8, dtype=np.uint8)
_MOST_ROUNDS = 16  # rows of the fullest slot up to which slots are compared round by round


class ProbeKeys:
    """Key hashes to probe many runs with; what is the same for runs of similar size is computed once."""

    def __init__(self, keys: IntArray) -> None:
        self.keys = keys
        self.leads = leads_of(keys)
        self._filter_bits: dict[int, tuple[IntArray, AnyArray]] = {}

    def filter_bits(self, bits: int) -> tuple[IntArray, AnyArray]:
        """For each key, its byte in a filter of 2**bits bits, and the mask of its bit there."""
        if bits not in self._filter_bits:
            number = self.leads >> (32 - bits)
            self._filter_bits[bits] = number >> 3, _BITS[number & 7]
        return self._filter_bits[bits]


class SortedRun:
    """A batch ordered by slots of `_k`, with an index, or sorted by `_s`, without; times have no NULL."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.keyed = SLOTS in batch.schema.names

    @staticmethod
    def of(batch: pa.RecordBatch, by: str, within: tuple[str, ...] = ()) -> SortedRun:
        """Sort rows, and build the index if it is by key; `within` are columns that order rows of one key.

        >>> rows = pa.record_batch({"_k": [2**62, -(2**62)], "_s": [1, 2], "_e": [8, 8]})
        >>> SortedRun.of(rows, "_k").starts.tolist(), SortedRun.of(rows, "_s").starts.tolist()
        ([2, 1], [1, 2])
        """
        if not set(INDEX).isdisjoint(batch.schema.names):
            raise ValueError(f"columns {', '.join(INDEX)} are of the index: a row cannot have them")
        values = batch[by].to_numpy()
        if within:
            order: IntArray | None = _order_within(values, [batch[name].to_numpy() for name in within])
        else:
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
    def keys(self) -> IntArray:
        keys: IntArray = self.batch[KEY].to_numpy()
        return keys

    @cached_property
    def probe_keys(self) -> ProbeKeys:
        """The keys of this run as keys to probe others with."""
        return ProbeKeys(self.keys)

    @cached_property
    def starts(self) -> IntArray:
        starts: IntArray = self.batch[START].to_numpy()
        return starts

    @cached_property
    def ends(self) -> IntArray:
        ends: IntArray = self.batch[END].to_numpy()
        return ends

    @cached_property
    def longest_lifetime(self) -> int:
        """The longest natural lifetime of a row; FOREVER if one is open."""
        if not self.rows or int(self.ends.max()) == FOREVER:
            return FOREVER
        return int((self.ends - self.starts).max())

    @cached_property
    def until(self) -> IntArray:
        """From when on each row is of no use: from its end on, or earlier."""
        return self.batch[UNTIL].to_numpy() if UNTIL in self.batch.schema.names else self.ends

    def plain(self) -> pa.RecordBatch:
        """The rows without the index columns."""
        return self.batch.drop_columns(INDEX) if self.keyed else self.batch

    def after(self, bound: int) -> SortedRun:
        """The run of the rows that are of use after an instant."""
        alive = self.until > bound
        if alive.all():
            return self
        return SortedRun.of(take_rows(self.plain(), np.flatnonzero(alive)), KEY if self.keyed else START)

    def matches(self, probe: SortedRun) -> Iterator[Pairs]:
        """Pairs (row of the probe, row of this run) of equal `_k` whose lifetimes overlap, in chunks."""
        candidates = self._matching(probe.probe_keys) if self.keyed else ranges(*self._by_time(probe))
        for probing, stored in candidates:
            if not self.keyed:
                spend_candidates(len(probing))
            start = np.maximum(probe.starts[probing], self.starts[stored])
            end = np.minimum(probe.ends[probing], self.ends[stored])
            pairs = Pairs(probing, stored, start, end)
            overlap = start < end
            yield pairs if overlap.all() else pairs.where(overlap)

    def key_ranges(self, probe: ProbeKeys) -> tuple[IntArray, IntArray, IntArray]:
        """The places of keys that have rows, and the bounds of these rows, where the run is sorted within.

        >>> rows = pa.record_batch({"_k": [5, 3, 5], "c0": [2, 1, 1]})
        >>> run = SortedRun.of(rows, "_k", ("c0",))
        >>> [one.tolist() for one in run.key_ranges(ProbeKeys(np.array([4, 5])))]
        [[1], [1], [3]]
        """
        likely, _, _ = self._slots_of(probe)
        keys = probe.keys.take(likely)
        low, high = np.searchsorted(self.keys, keys), np.searchsorted(self.keys, keys, "right")
        there = np.flatnonzero(low < high)
        return likely[there], low[there], high[there]

    def same_start(self, probe: pa.RecordBatch) -> Iterator[tuple[IntArray, IntArray]]:
        """Pairs (row of the probe, row of this run) of equal `_k` and `_s`."""
        keys, starts = probe[KEY].to_numpy(), probe[START].to_numpy()
        if self.keyed:
            candidates = self.equal_keys(keys)
        else:
            candidates = ranges(
                np.searchsorted(self.starts, starts), np.searchsorted(self.starts, starts, "right")
            )
        for probing, stored in candidates:
            same = (keys[probing] == self.keys[stored]) & (starts[probing] == self.starts[stored])
            yield probing[same], stored[same]

    def equal_keys(
        self, keys: IntArray, spend: Callable[[int], None] = spend_candidates
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Pairs (place of the probed key, row of this run) of equal `_k`, in chunks; `spend` counts them."""
        return self._matching(ProbeKeys(keys), spend)

    @cached_property
    def fullest_slot(self) -> int:
        """The most rows that `equal_keys` looks at for one key."""
        if self.rows < 2:
            return self.rows
        slots = 1 << slot_bits(self.rows)
        return int(np.diff(self.batch[SLOTS].to_numpy()[: slots + 1]).max())

    def candidate_counts(self, keys: IntArray) -> IntArray:
        """How many rows `equal_keys` looks at, for each key."""
        likely, low, high = self._slots_of(ProbeKeys(keys))
        counts = np.zeros(len(keys), np.int64)
        counts[likely] = high - low
        return counts

    def _matching(
        self, probe: ProbeKeys, spend: Callable[[int], None] = spend_candidates
    ) -> Iterator[tuple[IntArray, IntArray]]:
        likely, low, high = self._slots_of(probe)
        deepest = int((high - low).max()) if len(likely) else 0
        if deepest <= _MOST_ROUNDS:
            spend(int((high - low).sum()))
            yield self._by_rounds(probe.keys, likely, low, high)
            return
        for numbers, stored in ranges(low, high):
            spend(len(numbers))
            probing = likely[numbers]
            same = np.flatnonzero(probe.keys[probing] == self.keys[stored])
            yield probing[same], stored[same]

    def _by_rounds(
        self, keys: IntArray, probing: IntArray, place: IntArray, end: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Compare with the first rows of all slots, then with the second ones, and so on: slots are short."""
        matches: list[tuple[IntArray, IntArray]] = []
        inside = np.flatnonzero(place < end)
        while len(inside):
            probing, place, end = probing.take(inside), place.take(inside), end.take(inside)
            same = np.flatnonzero(self.keys.take(place) == keys.take(probing))
            matches.append((probing.take(same), place.take(same)))
            place = place + 1
            inside = np.flatnonzero(place < end)
        if not matches:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return np.concatenate([m[0] for m in matches]), np.concatenate([m[1] for m in matches])

    def _slots_of(self, probe: ProbeKeys) -> tuple[IntArray, IntArray, IntArray]:
        """The places of the keys that pass the filter, and the bounds of their slots."""
        if not self.rows:
            return (np.zeros(0, np.int64),) * 3
        byte, bit = probe.filter_bits(filter_width(self.rows))
        packed = self.batch[FILTER].to_numpy().view(np.uint8)
        likely = np.flatnonzero((packed.take(byte) & bit).astype(bool))
        if self.rows == 1:
            return likely, np.zeros(len(likely), np.int64), np.ones(len(likely), np.int64)
        begins = self.batch[SLOTS].to_numpy()
        slot = probe.leads.take(likely) >> (32 - slot_bits(self.rows))
        return likely, begins.take(slot).astype(np.int64), begins.take(slot + 1).astype(np.int64)

    def _by_time(self, probe: SortedRun) -> tuple[IntArray, IntArray]:
        """For each probing row the range of rows that start before it ends, and late enough to be alive."""
        high = np.searchsorted(self.starts, probe.ends)
        if self.longest_lifetime > FOREVER >> 1:
            return np.zeros(len(high), np.int64), high
        starts = np.maximum(probe.starts, NEVER + self.longest_lifetime)  # before all time nothing is earlier
        return np.searchsorted(self.starts, starts - self.longest_lifetime, "right"), high


def index_of(keys: IntArray) -> tuple[AnyArray, AnyArray]:
    """The index columns `_b` and `_f` of a run with these keys."""
    leads = leads_of(keys)
    return _slot_begins(leads), _filter(leads)


def take_rows(batch: pa.RecordBatch, rows: IntArray) -> pa.RecordBatch:
    """The rows at the given places."""
    return batch.take(pa.array(rows))


def leads_of(keys: IntArray) -> IntArray:
    """The 32 leading bits of keys as numbers in [0, 2**32), in the order of keys."""
    return (keys >> 32) + (1 << 31)


def _order(values: IntArray) -> IntArray | None:
    """The permutation that sorts values; None if they are sorted."""
    return np.argsort(values) if (values[1:] < values[:-1]).any() else None


def _order_within(keys: IntArray, columns: list[IntArray]) -> IntArray:
    """The permutation that sorts by key and then by columns; only rows of one key look at columns."""
    order = np.argsort(keys)
    ordered = keys[order]
    same = ordered[1:] == ordered[:-1]
    if same.any():
        tied = np.zeros(len(keys), bool)
        tied[1:] |= same
        tied[:-1] |= same
        at = np.flatnonzero(tied)
        rows = order[at]
        order[at] = rows[np.lexsort((*(column[rows] for column in reversed(columns)), ordered[at]))]
    return order


def _order_by_slot(keys: IntArray) -> IntArray | None:
    """The permutation that sorts keys by slot; None if they are sorted. 16-bit numbers are radix-sorted."""
    leads = leads_of(keys)
    high = (leads >> 16).astype(np.uint16)
    if slot_bits(len(keys)) <= 16:
        return None if (high[1:] >= high[:-1]).all() else np.argsort(high, kind="stable")
    if (leads[1:] >= leads[:-1]).all():
        return None
    order = np.argsort(leads.astype(np.uint16), kind="stable")
    return order[np.argsort(high[order], kind="stable")]


def slot_bits(rows: int) -> int:
    """How many leading bits of a key are its slot, in a run of two rows or more."""
    return min((rows - 1).bit_length() - 1, 32)


def filter_width(rows: int) -> int:
    """How many leading bits of a key are the number of its bit in the filter."""
    return min((16 * rows).bit_length() - 1, 32)


def _slot_begins(leads: IntArray) -> AnyArray:
    """Where each slot begins, and where the last one ends; there are fewer slots than rows."""
    begins = np.zeros(len(leads), np.int32)
    if len(leads) > 1:
        bits = slot_bits(len(leads))
        counts = np.bincount(leads >> (32 - bits), minlength=1 << bits)
        np.cumsum(counts, out=begins[1 : len(counts) + 1])
    return begins


def _filter(leads: IntArray) -> AnyArray:
    """One bit for each value of the leading bits, set if a row has it; stored as 16 bits a row."""
    packed = np.zeros(2 * len(leads), np.uint8)
    if len(leads):
        bits = filter_width(len(leads))
        flags = np.zeros(1 << bits, bool)
        flags[leads >> (32 - bits)] = True
        packed[: len(flags) >> 3] = np.packbits(flags, bitorder="little")
    return packed.view(np.uint16)
