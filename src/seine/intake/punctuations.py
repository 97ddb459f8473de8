"""An LSM-like store of the punctuations of one scheme, which answers whether a tuple violates one of them.

A punctuation says that no later tuple has these values (the key) in the columns of its scheme, for tuples
with a timestamp below its limit: its own timestamp plus the LIFESPAN, or for ever without one.

Punctuations are kept as immutable sorted runs. A run is a batch of `_h` (hash of the key, ascending), `_l`
(limit) and k0, k1, .. ; hashes find candidates, and equality of the keys decides. Small runs are merged
when a neighbour is not twice as large, large ones four at a time, so that little is written beyond what was
added.

Approximate set membership of hashes: a Bloom filter, and one whose members count from a position on.

Two groups of bits of a hash are tested, the second only where the first one matches. So nearly all hashes
that are not in the set cost one test. There are false positives, but no false negatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.intake.record_layout import empty_batch
from seine.rows.delta import FOREVER, NEVER
from seine.rows.hashing import hash_columns

_RUNS_PER_MERGE = 4
_MOST_ROWS_MERGED_AT_ONCE = 1024  # of the newest run; a larger one waits for more runs


@dataclass(frozen=True)
class PunctuationProbe:
    """Rows that may violate punctuations: their values in the columns of the scheme, and event times."""

    keys: list[pa.Array]
    times: IntArray
    partitions: IntArray | None = None  # of each row, where promises are judged by partition

    @cached_property
    def in_partition(self) -> PunctuationProbe:
        """The same with the partition as one more value of the key."""
        assert self.partitions is not None
        return PunctuationProbe([*self.keys, pa.array(self.partitions, pa.int64())], self.times)

    @cached_property
    def hashes(self) -> IntArray:
        """The hash of each key."""
        return hash_columns(_plain(self.keys), len(self.times))

    def take(self, chosen: IntArray) -> PunctuationProbe:
        """The rows at these positions."""
        return PunctuationProbe([key.take(pa.array(chosen)) for key in self.keys], self.times[chosen])


@dataclass(frozen=True)
class FreshPunctuations:
    """New punctuations of one scheme, with their positions among all new punctuations, in ascending order."""

    keys: list[pa.Array]
    limits: IntArray
    places: IntArray
    partitions: IntArray | None = None  # of each, where promises are judged by partition

    @cached_property
    def in_partition(self) -> FreshPunctuations:
        """The same with the partition as one more value of the key."""
        assert self.partitions is not None
        keys = [*self.keys, pa.array(self.partitions, pa.int64())]
        return FreshPunctuations(keys, self.limits, self.places)

    @cached_property
    def probe(self) -> PunctuationProbe:
        """Rows that violate exactly the punctuations with the same key and at least the same limit."""
        return PunctuationProbe(self.keys, self.limits - 1)


@dataclass
class PunctuationStore:
    """The punctuations of one scheme; `runs` are their batches by name, and a name is never used again."""

    types: tuple[pa.DataType, ...]
    runs: dict[str, pa.RecordBatch]
    forgets: bool = True  # what has lapsed; of values that are reused it says since when they are

    def __post_init__(self) -> None:
        self._filter = self._filter_of_runs()

    def __len__(self) -> int:
        return sum(run.num_rows for run in self.runs.values())

    def broken(self, probe: PunctuationProbe, fresh: FreshPunctuations | None, since: IntArray) -> IntArray:
        """The positions of the rows that violate a stored punctuation, or a fresh one that counts for them.

        Fresh punctuation i counts for rows from position since[i] on; `since` ascends.
        """
        suspects, limits = self._limits(probe, fresh, since)
        breaking: IntArray = suspects[probe.times[suspects] < limits]
        return breaking

    def latest_limits(
        self, probe: PunctuationProbe, fresh: FreshPunctuations | None, since: IntArray
    ) -> IntArray:
        """For each row the latest limit of a punctuation of its values, as `broken` counts them; else
        NEVER.
        """
        latest = np.full(len(probe.times), NEVER, np.int64)
        suspects, limits = self._limits(probe, fresh, since)
        latest[suspects] = limits
        return latest

    def _limits(
        self, probe: PunctuationProbe, fresh: FreshPunctuations | None, since: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Positions of all rows that a punctuation may concern, and the latest limit of those that do."""
        suspects = self._suspects(probe, fresh, since)
        made = self._made(probe.hashes[suspects], fresh, since) if len(suspects) else None
        if made is None or not len(made.limits):
            return suspects[:0], suspects[:0]
        suspected = probe.take(suspects)
        codes = key_codes([pa.concat_arrays([a, b]) for a, b in zip(made.keys, suspected.keys, strict=True)])
        count = len(made.limits)
        return suspects, _latest(codes[:count], made.since, made.limits, codes[count:], suspects)

    def repeated(self, fresh: FreshPunctuations) -> IntArray:
        """The positions of the fresh punctuations that are implied by stored or earlier ones."""
        return self.broken(fresh.probe, fresh, np.arange(1, len(fresh.limits) + 1))

    def _suspects(
        self, probe: PunctuationProbe, fresh: FreshPunctuations | None, since: IntArray
    ) -> IntArray:
        """The positions of the rows whose hash is, with few false positives, that of a punctuation."""
        suspects = np.zeros(0, np.int64)
        if len(probe.times) and self.runs:
            suspects = self._filter.passing(probe.hashes)
        if len(probe.times) and fresh is not None:
            suspects = np.union1d(suspects, passing_since(fresh.probe.hashes, since, probe.hashes))
        return suspects

    def _made(self, hashes: IntArray, fresh: FreshPunctuations | None, since: IntArray) -> _Made:
        """The stored and fresh punctuations that have one of these hashes."""
        kept = self._candidates(hashes)
        always = np.zeros(kept.num_rows, np.int64)
        if fresh is None:
            return _Made(kept.columns[2:], kept.column("_l").to_numpy(), always)
        few = _sharing(fresh.probe.hashes, hashes)
        keys = [key.take(pa.array(few)) for key in fresh.keys]
        return _Made(
            [pa.concat_arrays([a, b]) for a, b in zip(kept.columns[2:], keys, strict=True)],
            np.concatenate([kept.column("_l").to_numpy(), fresh.limits[few]]),
            np.concatenate([always, since[few]]),
        )

    def add(self, fresh: FreshPunctuations, watermark: int, name: Callable[[], str]) -> None:
        """Store fresh punctuations; those whose limit the watermark has passed are dropped in passing."""
        watermark = watermark if self.forgets else NEVER
        self.forget(watermark)
        newest = compact(self._batch(fresh), watermark)
        while similar := self._similar(newest.num_rows):
            newest = compact(_stack([*(self.runs.pop(run) for run in similar), newest]), watermark)
        if newest.num_rows:
            self.runs[name()] = newest
        if self._filter.count + len(fresh.limits) > self._filter.room:
            self._filter = self._filter_of_runs()
        else:
            self._filter.add(fresh.probe.hashes)

    def _similar(self, rows: int) -> list[str]:
        """The newest runs that should be merged with a new run of so many rows."""
        tail = list(takewhile(lambda run: self.runs[run].num_rows < 2 * rows, reversed(self.runs)))
        return tail if rows < _MOST_ROWS_MERGED_AT_ONCE or len(tail) >= _RUNS_PER_MERGE - 1 else []

    def forget(self, watermark: int) -> None:
        """Drop the runs of which the watermark has passed every limit."""
        for name, run in list(self.runs.items()) if self.forgets else ():
            if pc.max(run.column("_l")).as_py() <= watermark:
                del self.runs[name]

    def _filter_of_runs(self) -> BloomFilter:
        none = np.zeros(0, np.int64)
        hashes = [run.column("_h").to_numpy() for run in self.runs.values()]
        return BloomFilter(np.concatenate([none, *hashes]))

    def _candidates(self, hashes: IntArray) -> pa.RecordBatch:
        """The stored punctuations that have one of these hashes."""
        batches = [empty_batch(self.schema)]
        wanted = np.unique(hashes)
        for run in self.runs.values():
            places = _positions(run.column("_h").to_numpy(), wanted)
            if len(places):
                batches.append(run.take(pa.array(places)))
        return _stack(batches)

    def _batch(self, fresh: FreshPunctuations) -> pa.RecordBatch:
        columns = [pa.array(fresh.probe.hashes), pa.array(fresh.limits), *fresh.keys]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @property
    def schema(self) -> pa.Schema:
        """The columns of a run."""
        names = [f"k{i}" for i in range(len(self.types))]
        columns = [("_h", pa.int64()), ("_l", pa.int64()), *zip(names, self.types, strict=True)]
        return pa.schema(columns)


class _Made(NamedTuple):
    """Punctuations, and the position from which on each of them counts."""

    keys: list[pa.Array]
    limits: IntArray
    since: IntArray


def limits_of(times: IntArray, lifespan: int | None) -> IntArray:
    """The limits of punctuations with these timestamps; FOREVER without a lifespan or on overflow."""
    if lifespan is None:
        return np.full(len(times), FOREVER, np.int64)
    room = FOREVER - lifespan
    return np.where(times >= room, FOREVER, np.minimum(times, room) + lifespan)


def key_codes(columns: Sequence[pa.Array]) -> IntArray:
    """Dense codes of rows, equal where the rows are equal; NULL equals NULL, and -0.0 equals 0.0."""
    codes = np.zeros(len(columns[0]), np.int64)
    for column in _plain(columns):
        encoded = column.dictionary_encode(null_encoding="encode")
        codes = codes * max(len(encoded.dictionary), 1) + encoded.indices.to_numpy().astype(np.int64)
        codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
    return codes


def compact(batch: pa.RecordBatch, watermark: int) -> pa.RecordBatch:
    """One punctuation for each key, with its largest limit; sorted by hash; without lapsed ones."""
    batch = batch.filter(pc.greater(batch.column("_l"), watermark))
    if not batch.num_rows:
        return batch
    hashes = batch.column("_h").to_numpy()
    order = np.argsort(hashes, kind="stable")  # a stable sort merges sorted runs in linear time
    if (np.diff(hashes[order]) != 0).all():
        return batch.take(pa.array(order))
    codes, limits = key_codes(batch.columns[2:]), batch.column("_l").to_numpy()
    order = np.lexsort((-limits, codes))
    first = order[np.concatenate([[True], np.diff(codes[order]) != 0])]
    return batch.take(pa.array(first[np.argsort(hashes[first], kind="stable")]))


def _sharing(hashes: IntArray, wanted: IntArray) -> IntArray:
    """The positions of the hashes that are among the wanted ones, prefiltered by 16 bits."""
    marked = np.zeros(1 << 16, bool)
    marked[wanted & 0xFFFF] = True
    few = np.flatnonzero(marked[hashes & 0xFFFF])
    return few[np.isin(hashes[few], wanted)]


def _latest(
    punctuated: IntArray, since: IntArray, limits: IntArray, codes: IntArray, order: IntArray
) -> IntArray:
    """For each row the largest limit that counts for its key and position; NEVER if there is none."""
    span = int(max(since.max(), order.max())) + 1
    place = punctuated * span + since
    sort = np.argsort(place, kind="stable")
    ranks = np.unique(limits, return_inverse=True)
    # Codes ascend, so adding a multiple of the code makes one running maximum restart at every key.
    running = np.maximum.accumulate(punctuated[sort] * len(ranks[0]) + ranks[1].reshape(-1)[sort])
    at = np.searchsorted(place[sort], codes * span + order, side="right") - 1
    same = (at >= 0) & (punctuated[sort][np.maximum(at, 0)] == codes)
    longest = ranks[0][running[np.maximum(at, 0)] % len(ranks[0])]
    return np.where(same, longest, NEVER)


def _positions(sorted_hashes: IntArray, wanted: IntArray) -> IntArray:
    low = np.searchsorted(sorted_hashes, wanted, side="left")
    counts = np.searchsorted(sorted_hashes, wanted, side="right") - low
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    positions: IntArray = np.repeat(low, counts) + offsets
    return positions


def _plain(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """The columns with 0.0 for -0.0, which is equal but has other bits."""
    return [pc.add(c, 0.0) if pa.types.is_floating(c.type) else c for c in columns]


def _stack(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    columns = [pa.concat_arrays(list(parts)) for parts in zip(*[b.columns for b in batches], strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema)


_SHIFTS = (np.int64(0), np.int64(31))  # where the groups of bits begin
_BITS = 1 << np.arange(8, dtype=np.uint8)


class BloomFilter:
    """A Bloom filter over hashes that can grow, with 4 to 16 bytes for each of many hashes.

    >>> members = BloomFilter(np.array([5, 7]))
    >>> members.add(np.array([9]))
    >>> members.passing(np.array([1, 9, 2, 5])).tolist()
    [1, 3]
    """

    def __init__(self, hashes: IntArray) -> None:
        self.room = max(2 * len(hashes), 64)  # hashes; with more there would be too many false positives
        self.count = 0
        size = 1 << (32 * self.room - 1).bit_length()
        self._bits = np.zeros(size >> 3, np.uint8)
        self._mask = np.int64(size - 1)
        self.add(hashes)

    def add(self, hashes: IntArray) -> None:
        """Add hashes to the set."""
        self.count += len(hashes)
        for shift in _SHIFTS:
            number = (hashes >> shift) & self._mask
            np.bitwise_or.at(self._bits, number >> 3, _BITS[number & 7])

    def passing(self, hashes: IntArray) -> IntArray:
        """The places of the hashes that may be in the set."""
        passed = np.flatnonzero(self._hits(hashes))
        suspects: IntArray = passed[self._hits(hashes[passed] >> _SHIFTS[1])]
        return suspects

    def _hits(self, hashes: IntArray) -> BoolArray:
        number = hashes & self._mask
        hits: BoolArray = (self._bits[number >> 3] & _BITS[number & 7]) != 0
        return hits


def passing_since(made: IntArray, since: IntArray, hashes: IntArray) -> AnyArray:
    """The positions of the hashes that may equal a member which counts for their position.

    Member `made[i]` counts from position `since[i]` on; `since` ascends. A table has, for each value of the
    tested bits, the first position that counts.

    >>> passing_since(np.array([8, 9]), np.array([1, 3]), np.array([8, 8, 9, 9, 1])).tolist()
    [1, 3]
    """
    size = 1 << (16 * len(made)).bit_length()
    mask, never = np.int64(size - 1), np.iinfo(np.int32).max
    places: AnyArray = np.arange(len(hashes), dtype=np.int32)
    for shift in _SHIFTS:
        first = np.full(size, never, np.int32)
        first[((made >> shift) & mask)[::-1]] = since[::-1]  # the last write wins: the first position
        candidates = hashes if len(places) == len(hashes) else hashes[places]
        places = places[first[(candidates >> shift) & mask] <= places]
    return places
