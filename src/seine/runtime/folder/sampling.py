"""Samples of the streams, for estimates: of the journal entries that have been worked on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.definitions import StreamDef
from seine.intake.journal import Entry
from seine.intake.parsed import TUPLE, event_times
from seine.optimizer.estimates import Estimates, Sample
from seine.rows.delta import data_names
from seine.rows.hashing import hash_columns

MOST_SAMPLED = 1_000  # rows of a stream


@dataclass
class Reservoir:
    """A uniform sample of a stream of at most `size` rows: those whose arrival numbers hash lowest.

    Law: it depends on the set of rows added, not on their order or batches, and a row that is
    added again changes nothing; so a replay leaves the sample as it was.
    """

    size: int
    rows: pa.RecordBatch | None = None
    arrivals: IntArray | None = None
    seen: int = 0  # the highest arrival number, from 1
    first: int | None = None  # event times of all rows
    last: int | None = None
    punctuations: dict[int, int] = field(default_factory=dict)  # how many have come, by scheme

    def add(self, arrivals: IntArray, rows: pa.RecordBatch, times: IntArray) -> None:
        if not len(arrivals):
            return
        self.seen = max(self.seen, int(arrivals.max()) + 1)
        self.first = min(int(times.min()), self.first if self.first is not None else int(times.min()))
        self.last = max(int(times.max()), self.last if self.last is not None else int(times.max()))
        chosen = _lowest(arrivals, self.size)
        rows, arrivals = rows.take(pa.array(chosen)), arrivals[chosen]
        if self.rows is not None and self.arrivals is not None:
            rows, arrivals = pa.concat_batches([self.rows, rows]), np.append(self.arrivals, arrivals)
            chosen = _lowest(arrivals, self.size)
            rows, arrivals = rows.take(pa.array(chosen)), arrivals[chosen]
        self.rows, self.arrivals = rows, arrivals

    def sample(self) -> Sample | None:
        if self.rows is None or self.first is None or self.last is None:
            return None
        rate = self.seen / max(self.last - self.first, 1)
        return Sample(self.rows, float(self.seen), rate, dict(self.punctuations))


class StreamSamples:
    """A reservoir for each stream, filled from journal entries."""

    def __init__(self, size: int = MOST_SAMPLED) -> None:
        self._size = size
        self._reservoirs: dict[str, Reservoir] = {}
        self._sampled: dict[str, StreamDef] = {}
        self._counted = -1  # the last entry whose punctuations have been counted

    def add(self, entry: Entry, streams: Mapping[str, StreamDef]) -> None:
        """See an entry's rows; a negative tuple is none, nor is one of another stream that had the name."""
        for name in entry.rows:
            batch = entry.batch(name)
            if batch is not None and name in streams and _is_of(streams[name], batch):
                self._add(streams[name], batch)
        if entry.number > self._counted:
            self._counted = entry.number
            for name in entry.punctuation_counts:
                made = entry.punctuations(name)
                if made is not None and name in streams:
                    self._count(streams[name], made)

    def _count(self, stream: StreamDef, punctuations: pa.RecordBatch) -> None:
        counts = self._reservoir(stream).punctuations
        schemes, made = np.unique(punctuations["_scheme"].to_numpy(), return_counts=True)
        for scheme, count in zip(schemes.tolist(), made.tolist(), strict=True):
            counts[scheme] = counts.get(scheme, 0) + count

    def _reservoir(self, stream: StreamDef) -> Reservoir:
        """The sample of a stream; a new one if another stream had its name."""
        if self._sampled.get(stream.name) != stream:
            self._sampled[stream.name], self._reservoirs[stream.name] = stream, Reservoir(self._size)
        return self._reservoirs[stream.name]

    def _add(self, stream: StreamDef, batch: pa.RecordBatch) -> None:
        if stream.retractable:
            batch = batch.filter(pa.array(batch.column("_o").to_numpy() == TUPLE))
        rows = batch.select(data_names(len(stream.fields)))
        times = event_times(rows.column(stream.time))
        self._reservoir(stream).add(batch.column("_q").to_numpy(), rows, times)

    def put(self, stream: StreamDef, reservoir: Reservoir) -> None:
        """Go on with what was sampled of a stream before."""
        self._sampled[stream.name], self._reservoirs[stream.name] = (
            stream,
            replace(reservoir, size=self._size),
        )

    def reservoirs(self) -> Iterator[tuple[StreamDef, Reservoir]]:
        """The streams of which there are rows, with these."""
        for name, reservoir in self._reservoirs.items():
            if reservoir.rows is not None:
                yield self._sampled[name], reservoir

    def estimates(self) -> Estimates | None:
        """Estimates by the samples; None before there are any."""
        samples = {name: reservoir.sample() for name, reservoir in self._reservoirs.items()}
        known = {name: sample for name, sample in samples.items() if sample is not None}
        return Estimates(known) if known else None


def _is_of(stream: StreamDef, batch: pa.RecordBatch) -> bool:
    """Whether rows have the columns of a stream."""
    columns = {name: batch.schema.field(name).type for name in batch.schema.names if name.startswith("c")}
    return columns == {f"c{i}": type_.arrow() for i, type_ in enumerate(stream.types)}


def _lowest(arrivals: IntArray, size: int) -> IntArray:
    """The positions of the arrivals that hash lowest, each arrival once."""
    hashes = hash_columns([pa.array(arrivals, pa.int64())], len(arrivals))
    few = np.arange(len(hashes))
    if len(hashes) > 4 * size:  # so many that are low, twice at most: a batch and the sample may share rows
        few = np.argpartition(hashes, 2 * size)[: 2 * size]
    _, once = np.unique(hashes[few], return_index=True)
    return few[once[:size]]
