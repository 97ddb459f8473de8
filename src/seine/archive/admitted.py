"""All tuples of finite streams, admitted exactly as a run admits them: parsing, lateness, punctuations."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

import pyarrow as pa

from seine.algebra.definitions import StreamDef
from seine.intake.intake import Intake
from seine.intake.journal import Journal
from seine.intake.record_layout import RecordLayout
from seine.scratch_folder import scratch_folder


def admitted(streams: Sequence[StreamDef]) -> dict[str, pa.RecordBatch]:
    """For each stream its tuples as `_q` (arrival number), c0, c1, ..; rejected lines are left out."""
    pieces: dict[str, list[pa.RecordBatch]] = {stream.name: [] for stream in streams}
    with tempfile.TemporaryDirectory(dir=scratch_folder()) as folder:
        intake = Intake(streams, Journal(folder))
        try:
            while (entry := intake.next_entry()) is not None:
                for name in entry.rows:
                    pieces[name].append(entry.batch(name))
        finally:
            intake.close()
        return {stream.name: _whole(stream, pieces[stream.name]) for stream in streams}


def _whole(stream: StreamDef, pieces: list[pa.RecordBatch]) -> pa.RecordBatch:
    """All pieces of a stream as one batch."""
    schema = pa.schema([pa.field("_q", pa.int64()), *RecordLayout.of(stream).schema])
    none = pa.RecordBatch.from_pylist([], schema)
    return pa.concat_batches([none, *(piece.select(schema.names).cast(schema) for piece in pieces)])
