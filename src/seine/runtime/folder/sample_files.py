"""Samples of streams as files, so that a restarted service plans with what it knew.

A file is written when a stream has brought twice as many rows as when it was written last, and at the end.
Samples are hints: no answer depends on them, so one that cannot be written or read is done without.

Cites: ARGUS 4 (historical data for estimating costs)
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping

import pyarrow as pa
from msgspec import DecodeError, Struct, json

from seine.algebra.definitions import StreamDef
from seine.algebra.serialise import stream_to_json
from seine.disk_sync import make_folder, write_whole
from seine.runtime.folder.sampling import Reservoir, StreamSamples
from seine.typed_json import json_decoder

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
