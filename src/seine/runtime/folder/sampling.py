"""Samples of the streams, for estimates: of the journal entries that have been worked on.

They are kept as files too, so that a restarted service plans with what it knew. A file is written when a
stream has brought twice as many rows as when it was written last, and at the end. Samples are hints: no
answer depends on them, so one that cannot be written or read is done without.

Cites: ARGUS 4 (historical data for estimating costs)
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from msgspec import DecodeError, Struct, json

from seine.algebra.arrays import IntArray
from seine.algebra.definitions import StreamDef
from seine.algebra.serialise import stream_to_json
from seine.disk_sync import make_folder, write_whole
from seine.intake.journal import Entry
from seine.intake.parsed import TUPLE, event_times
from seine.optimizer.estimates import Estimates, Sample
from seine.rows.delta import data_names
from seine.rows.hashing import hash_columns
from seine.typed_json import json_decoder

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


_logger = logging.getLogger(__name__)
_SUMMARY = b"seine.sample"
_ARRIVALS = "_q"


class _Summary(Struct, frozen=True):
    """What a file says beside its rows: of which declaration they are, and how many they stand for."""

    stream: dict[str, object]
    seen: int
    first: int
    last: int
    punctuations: dict[int, int] = {}


class SampleFiles:
    """The samples of a service in a folder, a file for each stream."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._written: dict[str, int] = {}  # by stream: how many rows it had brought

    def load(self, samples: StreamSamples, streams: Mapping[str, StreamDef]) -> None:
        """Take in what was written of streams that are still declared as they were."""
        for stream in streams.values():
            reservoir = _read(self._path(stream.name), stream)
            if reservoir is not None:
                samples.put(stream, reservoir)
                self._written[stream.name] = reservoir.seen

    def save(self, samples: StreamSamples, *, everything: bool = False) -> None:
        """Write the samples that stand for twice as many rows as before, or all that have changed."""
        for stream, reservoir in samples.reservoirs():
            before = self._written.get(stream.name, 0)
            if reservoir.seen > before and (everything or reservoir.seen >= 2 * before):
                self._write(stream, reservoir)

    def _write(self, stream: StreamDef, reservoir: Reservoir) -> None:
        try:
            make_folder(self._folder)
            write_whole(self._path(stream.name), _content(stream, reservoir))
        except OSError as error:
            _logger.warning("sample not written", extra={"stream": stream.name, "reason": str(error)})
            return
        self._written[stream.name] = reservoir.seen

    def _path(self, stream: str) -> str:
        name = hashlib.sha256(stream.lower().encode()).hexdigest()[:32]
        return os.path.join(self._folder, f"{name}.arrow")


def _content(stream: StreamDef, reservoir: Reservoir) -> bytes:
    assert reservoir.rows is not None and reservoir.arrivals is not None
    assert reservoir.first is not None and reservoir.last is not None
    declared, counts = stream_to_json(stream), reservoir.punctuations
    summary = _Summary(declared, reservoir.seen, reservoir.first, reservoir.last, counts)
    rows = reservoir.rows.append_column(_ARRIVALS, pa.array(reservoir.arrivals, pa.int64()))
    rows = rows.replace_schema_metadata({_SUMMARY: json.encode(summary)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_batch(rows)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _read(path: str, stream: StreamDef) -> Reservoir | None:
    """The sample in a file, if there is one of this very stream."""
    if not os.path.exists(path):
        return None
    try:
        with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
            rows = reader.get_batch(0)
            summary = json_decoder(_Summary).decode((reader.schema.metadata or {}).get(_SUMMARY, b""))
    except (OSError, pa.ArrowException, DecodeError) as error:
        _logger.warning("sample not read", extra={"stream": stream.name, "reason": str(error)})
        return None
    if summary.stream != json.decode(json.encode(stream_to_json(stream))):
        return None
    arrivals = rows.column(_ARRIVALS).to_numpy()
    data = rows.select([name for name in rows.schema.names if name != _ARRIVALS])
    data = data.replace_schema_metadata(None)
    times, counts = (summary.first, summary.last), dict(summary.punctuations)
    return Reservoir(max(len(arrivals), 1), data, arrivals, summary.seen, *times, counts)
