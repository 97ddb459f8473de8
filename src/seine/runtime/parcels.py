"""Parcels: many small Arrow batches in one blob, so that Spark moves few rows.

A blob is a JSON header, then each batch as an Arrow IPC stream. A batch may have
several targets: inputs with the same rows and the same key receive it once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

_LENGTH_BYTES = 8


class Parcel(NamedTuple):
    """Rows on their way to ports: (node, port) pairs; `plus` tells new rows from early ends."""

    targets: tuple[tuple[int, int], ...]
    plus: bool
    batch: pa.RecordBatch


def ipc_bytes(batch: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def read_ipc(buffer: pa.Buffer) -> pa.RecordBatch:
    return pa.ipc.open_stream(buffer).read_next_batch()


def encode(parcels: list[Parcel]) -> list[bytes | pa.Buffer]:
    """Lay parcels out as the pieces of one blob; `decode` is the inverse of joining them."""
    bodies = [ipc_bytes(parcel.batch) for parcel in parcels]
    index = [[p.targets, p.plus, body.size] for p, body in zip(parcels, bodies, strict=True)]
    header = json.dumps(index, separators=(",", ":")).encode()
    header += b" " * (-(len(header) + _LENGTH_BYTES) % 8)  # Arrow wants its buffers aligned
    return [len(header).to_bytes(_LENGTH_BYTES, "little"), header, *bodies]


def decode(blob: bytes | pa.Buffer) -> Iterator[Parcel]:
    buffer = blob if isinstance(blob, pa.Buffer) else pa.py_buffer(blob)
    start = _LENGTH_BYTES + int.from_bytes(buffer.slice(0, _LENGTH_BYTES), "little")
    for targets, plus, size in json.loads(buffer.slice(_LENGTH_BYTES, start - _LENGTH_BYTES).to_pybytes()):
        yield Parcel(tuple(map(tuple, targets)), plus, read_ipc(buffer.slice(start, size)))
        start += size
