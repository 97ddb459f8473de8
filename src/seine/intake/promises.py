"""The promises that the punctuations of one scheme have made, kept as immutable sorted runs.

A promise says that no later tuple has these values in the scheme's columns, as long as the tuple's
timestamp is below the promise's limit (its own timestamp plus the LIFESPAN; without one, for ever).
A run is a batch `_h` (hash of the key, ascending), `_l` (limit), k0, k1, .. ; hashes only find
candidates, equality of the keys decides. Runs are merged when a neighbour is not twice as large, so
what is written stays near what was added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.operators.delta import FOREVER, NEVER
from seine.operators.hashing import hash_columns


@dataclass
class Promises:
    """The promises of one scheme; `runs` has their batches by name, names being unique for ever."""

    types: tuple[pa.DataType, ...]
    runs: dict[str, pa.RecordBatch]

    def __len__(self) -> int:
        return sum(run.num_rows for run in self.runs.values())

    def broken(
        self, keys: list[pa.Array], times: np.ndarray, order: np.ndarray, fresh: Fresh | None
    ) -> np.ndarray:
        """Which tuples break a kept promise, or a fresh one that stands before them in `order`."""
        found = np.zeros(len(times), bool)
        if len(times) and (self.runs or fresh is not None):
            hashes = hash_columns(_plain(keys), len(times))
            held = self._candidates(hashes)
            few = np.flatnonzero(_suspects(hashes, order, held.column("_h").to_numpy(), fresh))
            if len(few):
                some = [key.take(pa.array(few)) for key in keys]
                found[few] = self._compared(held, some, times[few], order[few], fresh)
        return found

    def _compared(
        self,
        held: pa.RecordBatch,
        keys: list[pa.Array],
        times: np.ndarray,
        order: np.ndarray,
        fresh: Fresh | None,
    ) -> np.ndarray:
        made = held.num_rows + (len(fresh.order) if fresh else 0)
        held_order = np.full(held.num_rows, -1, np.int64)
        limits, orders, columns = held.column("_l").to_numpy(), held_order, held.columns[2:]
        if fresh is not None:
            limits = np.concatenate([limits, fresh.limits])
            orders = np.concatenate([orders, fresh.order])
            columns = [pa.concat_arrays([a, b]) for a, b in zip(columns, fresh.keys, strict=True)]
        codes = key_codes([pa.concat_arrays([a, b]) for a, b in zip(columns, keys, strict=True)])
        return _broken(codes[:made], orders, limits, codes[made:], order, times)

    def add(self, fresh: Fresh, watermark: int, name: Callable[[], str]) -> None:
        """Keep fresh promises; what has lapsed below the watermark is dropped on the way."""
        self.forget(watermark)
        newest = compact(self._batch(fresh), watermark)
        while self.runs:
            last = next(reversed(self.runs))
            if self.runs[last].num_rows >= 2 * newest.num_rows:
                break
            newest = compact(_stack([self.runs.pop(last), newest]), watermark)
        if newest.num_rows:
            self.runs[name()] = newest

    def forget(self, watermark: int) -> None:
        """Drop the runs in which every promise has lapsed for all tuples to come."""
        for name, run in list(self.runs.items()):
            if pc.max(run.column("_l")).as_py() <= watermark:
                del self.runs[name]

    def _candidates(self, hashes: np.ndarray) -> pa.RecordBatch:
        """Kept promises whose hash is that of some tuple."""
        found = [self._empty()]
        wanted = np.sort(pc.unique(pa.array(hashes)).to_numpy()) if self.runs else hashes
        for run in self.runs.values():
            places = _positions(run.column("_h").to_numpy(), wanted)
            if len(places):
                found.append(run.take(pa.array(places)))
        return _stack(found)

    def _batch(self, fresh: Fresh) -> pa.RecordBatch:
        columns = [pa.array(fresh.hashes), pa.array(fresh.limits), *fresh.keys]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @property
    def schema(self) -> pa.Schema:
        names = [f"k{i}" for i in range(len(self.types))]
        columns = [("_h", pa.int64()), ("_l", pa.int64()), *zip(names, self.types, strict=True)]
        return pa.schema(columns)

    def _empty(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in self.schema], schema=self.schema)


@dataclass(frozen=True)
class Fresh:
    """Promises of the lines at hand, with their places among them, which ascend."""

    keys: list[pa.Array]
    limits: np.ndarray
    order: np.ndarray

    @cached_property
    def hashes(self) -> np.ndarray:
        return hash_columns(_plain(self.keys), len(self.order))


def limits_of(times: np.ndarray, lifespan: int | None) -> np.ndarray:
    """When promises made at these times lapse; FOREVER if never or beyond all time."""
    if lifespan is None:
        return np.full(len(times), FOREVER, np.int64)
    room = FOREVER - lifespan
    return np.where(times >= room, FOREVER, np.minimum(times, room) + lifespan)


def key_codes(columns: Sequence[pa.Array]) -> np.ndarray:
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


def _suspects(hashes: np.ndarray, order: np.ndarray, held: np.ndarray, fresh: Fresh | None) -> np.ndarray:
    """Which tuples have the hash of a kept promise or of a fresh one before them; some others too.

    What is asked is a table with the first promise of some bits of a hash: one step for each tuple.
    """
    made = fresh.hashes if fresh is not None else held[:0]
    size = 1 << (16 * (len(held) + len(made))).bit_length()
    first = np.full(size, FOREVER, np.int64)
    if fresh is not None:
        first[(made & (size - 1))[::-1]] = fresh.order[::-1]  # the last that is written is the first of all
    first[held & (size - 1)] = NEVER
    suspected: np.ndarray = first[hashes & (size - 1)] < order
    return suspected


def _broken(
    promised: np.ndarray,
    promise_order: np.ndarray,
    limits: np.ndarray,
    codes: np.ndarray,
    order: np.ndarray,
    times: np.ndarray,
) -> np.ndarray:
    """A tuple breaks a promise if the largest limit promised for its key before it is beyond its time."""
    span = int(max(promise_order.max(), order.max())) + 2
    place = promised * span + promise_order + 1
    sort = np.argsort(place, kind="stable")
    ranks = np.unique(limits, return_inverse=True)
    # Codes ascend, so adding a multiple of the code makes one running maximum restart at every key.
    running = np.maximum.accumulate(promised[sort] * len(ranks[0]) + ranks[1].reshape(-1)[sort])
    at = np.searchsorted(place[sort], codes * span + order + 1, side="left") - 1
    same = (at >= 0) & (promised[sort][np.maximum(at, 0)] == codes)
    longest = ranks[0][running[np.maximum(at, 0)] % len(ranks[0])]
    return same & (times < longest)


def _positions(sorted_hashes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    low = np.searchsorted(sorted_hashes, wanted, side="left")
    counts = np.searchsorted(sorted_hashes, wanted, side="right") - low
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(low, counts) + offsets


def _plain(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Doubles without a negative zero, which equals the other but has other bits."""
    return [pc.add(c, 0.0) if pa.types.is_floating(c.type) else c for c in columns]


def _stack(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    columns = [pa.concat_arrays(list(parts)) for parts in zip(*[b.columns for b in batches], strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema)
