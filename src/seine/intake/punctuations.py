"""The promises that the punctuations of one scheme have made, kept as immutable sorted runs.

A promise says that no later tuple has these values in the scheme's columns, as long as the tuple's
timestamp is below the promise's limit (its own timestamp plus the LIFESPAN; without one, for ever).
A run is a batch `_h` (hash of the key, ascending), `_l` (limit), k0, k1, .. ; hashes only find
candidates, equality of the keys decides. Small runs are merged when a neighbour is not twice as large, large
ones four at a time, so what is written stays near what was added.
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

from seine.intake.hash_filter import Sieve, passing_since
from seine.intake.record_layout import empty_batch
from seine.rows.arrays import Bools, Ints
from seine.rows.delta import FOREVER
from seine.rows.hashing import hash_columns

_FAN_IN = 4
_MANY = 1024  # promises; runs with fewer are merged at once


@dataclass(frozen=True)
class PunctuationProbe:
    """Tuples, or what else might break promises: values of the scheme's columns, and times."""

    keys: list[pa.Array]
    times: Ints

    @cached_property
    def hashes(self) -> Ints:
        return hash_columns(_plain(self.keys), len(self.times))

    def take(self, chosen: Ints) -> PunctuationProbe:
        return PunctuationProbe([key.take(pa.array(chosen)) for key in self.keys], self.times[chosen])


@dataclass(frozen=True)
class Fresh:
    """Promises of the lines at hand, with their places among the punctuations, which ascend."""

    keys: list[pa.Array]
    limits: Ints
    places: Ints

    @cached_property
    def probe(self) -> PunctuationProbe:
        """As what would break a promise of the same, for as long or longer."""
        return PunctuationProbe(self.keys, self.limits - 1)


@dataclass
class Punctuations:
    """The promises of one scheme; `runs` has their batches by name, names being unique for ever."""

    types: tuple[pa.DataType, ...]
    runs: dict[str, pa.RecordBatch]

    def __post_init__(self) -> None:
        self._sieve = self._sieve_of_runs()

    def __len__(self) -> int:
        return sum(run.num_rows for run in self.runs.values())

    def broken(self, probe: PunctuationProbe, fresh: Fresh | None, since: Ints) -> Ints:
        """The places of what breaks a kept promise, or a fresh one that counts for its place.

        Fresh promise i counts from place since[i] on; `since` ascends.
        """
        suspects = self._suspects(probe, fresh, since)
        made = self._made(probe.hashes[suspects], fresh, since) if len(suspects) else None
        if made is None or not len(made.limits):
            return suspects[:0]
        probed = probe.take(suspects)
        codes = key_codes([pa.concat_arrays([a, b]) for a, b in zip(made.keys, probed.keys, strict=True)])
        count = len(made.limits)
        broken = _broken(codes[:count], made.since, made.limits, codes[count:], suspects, probed.times)
        return suspects[broken]

    def repeated(self, fresh: Fresh) -> Ints:
        """Which of some fresh promises say nothing new."""
        return self.broken(fresh.probe, fresh, np.arange(1, len(fresh.limits) + 1))

    def _suspects(self, probe: PunctuationProbe, fresh: Fresh | None, since: Ints) -> Ints:
        """The places of all that may break a promise; there are hardly more than do."""
        suspects = np.zeros(0, np.int64)
        if len(probe.times) and self.runs:
            suspects = self._sieve.passing(probe.hashes)
        if len(probe.times) and fresh is not None:
            suspects = np.union1d(suspects, passing_since(fresh.probe.hashes, since, probe.hashes))
        return suspects

    def _made(self, hashes: Ints, fresh: Fresh | None, since: Ints) -> _Made:
        """The promises that have one of these hashes, kept ones and fresh ones."""
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

    def add(self, fresh: Fresh, watermark: int, name: Callable[[], str]) -> None:
        """Keep fresh promises; what has lapsed below the watermark is dropped on the way."""
        self.forget(watermark)
        newest = compact(self._batch(fresh), watermark)
        while similar := self._similar(newest.num_rows):
            newest = compact(_stack([*(self.runs.pop(run) for run in similar), newest]), watermark)
        if newest.num_rows:
            self.runs[name()] = newest
        if self._sieve.count + len(fresh.limits) > self._sieve.room:
            self._sieve = self._sieve_of_runs()
        else:
            self._sieve.add(fresh.probe.hashes)

    def _similar(self, rows: int) -> list[str]:
        """The last runs, if they should be one with a run of so many rows."""
        tail = list(takewhile(lambda run: self.runs[run].num_rows < 2 * rows, reversed(self.runs)))
        return tail if rows < _MANY or len(tail) >= _FAN_IN - 1 else []

    def forget(self, watermark: int) -> None:
        """Drop the runs in which every promise has lapsed for all tuples to come."""
        for name, run in list(self.runs.items()):
            if pc.max(run.column("_l")).as_py() <= watermark:
                del self.runs[name]

    def _sieve_of_runs(self) -> Sieve:
        none = np.zeros(0, np.int64)
        return Sieve(np.concatenate([none, *(run.column("_h").to_numpy() for run in self.runs.values())]))

    def _candidates(self, hashes: Ints) -> pa.RecordBatch:
        """Kept promises that have one of these hashes."""
        parts = [empty_batch(self.schema)]
        wanted = np.unique(hashes)
        for run in self.runs.values():
            places = _positions(run.column("_h").to_numpy(), wanted)
            if len(places):
                parts.append(run.take(pa.array(places)))
        return _stack(parts)

    def _batch(self, fresh: Fresh) -> pa.RecordBatch:
        columns = [pa.array(fresh.probe.hashes), pa.array(fresh.limits), *fresh.keys]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @property
    def schema(self) -> pa.Schema:
        names = [f"k{i}" for i in range(len(self.types))]
        columns = [("_h", pa.int64()), ("_l", pa.int64()), *zip(names, self.types, strict=True)]
        return pa.schema(columns)


class _Made(NamedTuple):
    """Promises, and from which place on each of them counts."""

    keys: list[pa.Array]
    limits: Ints
    since: Ints


def limits_of(times: Ints, lifespan: int | None) -> Ints:
    """When promises made at these times lapse; FOREVER if never or beyond all time."""
    if lifespan is None:
        return np.full(len(times), FOREVER, np.int64)
    room = FOREVER - lifespan
    return np.where(times >= room, FOREVER, np.minimum(times, room) + lifespan)


def key_codes(columns: Sequence[pa.Array]) -> Ints:
    """Small integers, equal where the rows are; NULL equals NULL, and -0.0 equals 0.0."""
    codes = np.zeros(len(columns[0]), np.int64)
    for column in _plain(columns):
        encoded = column.dictionary_encode(null_encoding="encode")
        codes = codes * max(len(encoded.dictionary), 1) + encoded.indices.to_numpy().astype(np.int64)
        codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
    return codes


def compact(batch: pa.RecordBatch, watermark: int) -> pa.RecordBatch:
    """One promise a key, the longest; sorted by hash; without those that have lapsed."""
    batch = batch.filter(pc.greater(batch.column("_l"), watermark))
    if not batch.num_rows:
        return batch
    hashes = batch.column("_h").to_numpy()
    order = np.argsort(hashes, kind="stable")  # which merges what is sorted
    if (np.diff(hashes[order]) != 0).all():
        return batch.take(pa.array(order))
    codes, limits = key_codes(batch.columns[2:]), batch.column("_l").to_numpy()
    order = np.lexsort((-limits, codes))
    first = order[np.concatenate([[True], np.diff(codes[order]) != 0])]
    return batch.take(pa.array(first[np.argsort(hashes[first], kind="stable")]))


def _sharing(hashes: Ints, wanted: Ints) -> Ints:
    """The places of the hashes that are among the wanted; few of both are, by some of their bits."""
    marked = np.zeros(1 << 16, bool)
    marked[wanted & 0xFFFF] = True
    few = np.flatnonzero(marked[hashes & 0xFFFF])
    return few[np.isin(hashes[few], wanted)]


def _broken(
    punctuated: Ints,
    since: Ints,
    limits: Ints,
    codes: Ints,
    order: Ints,
    times: Ints,
) -> Bools:
    """A tuple breaks a promise if the largest limit that counts for its key and place is beyond its time."""
    span = int(max(since.max(), order.max())) + 1
    place = punctuated * span + since
    sort = np.argsort(place, kind="stable")
    ranks = np.unique(limits, return_inverse=True)
    # Codes ascend, so adding a multiple of the code makes one running maximum restart at every key.
    running = np.maximum.accumulate(punctuated[sort] * len(ranks[0]) + ranks[1].reshape(-1)[sort])
    at = np.searchsorted(place[sort], codes * span + order, side="right") - 1
    same = (at >= 0) & (punctuated[sort][np.maximum(at, 0)] == codes)
    longest = ranks[0][running[np.maximum(at, 0)] % len(ranks[0])]
    broken: Bools = same & (times < longest)
    return broken


def _positions(sorted_hashes: Ints, wanted: Ints) -> Ints:
    low = np.searchsorted(sorted_hashes, wanted, side="left")
    counts = np.searchsorted(sorted_hashes, wanted, side="right") - low
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    places: Ints = np.repeat(low, counts) + offsets
    return places


def _plain(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Doubles without a negative zero, which equals the other but has other bits."""
    return [pc.add(c, 0.0) if pa.types.is_floating(c.type) else c for c in columns]


def _stack(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    columns = [pa.concat_arrays(list(parts)) for parts in zip(*[b.columns for b in batches], strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema)
