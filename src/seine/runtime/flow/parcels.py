"""Parcels: many small Arrow batches in one blob, so that Spark moves few rows.

A blob is a JSON header, then each batch as an Arrow IPC stream. A batch may have
several targets: inputs with the same rows and the same key receive it once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import pyarrow as pa

_LENGTH_BYTES = 8
_END = b"\xff\xff\xff\xff\0\0\0\0"  # of an IPC stream


class Parcel(NamedTuple):
    """Rows on their way to ports: (node, port) pairs; `plus` tells new rows from early ends."""

    targets: tuple[tuple[int, int], ...]
    plus: bool
    batch: pa.RecordBatch


def ipc_pieces(batch: pa.RecordBatch) -> list[bytes | pa.Buffer]:
    """A batch as an Arrow IPC stream, in pieces: nothing is copied more than once."""
    assert not any(pa.types.is_dictionary(type_) for type_ in batch.schema.types), "these need messages more"
    return [batch.schema.serialize(), batch.serialize(), _END]


def size_of(pieces: list[bytes | pa.Buffer]) -> int:
    return sum(map(len, pieces))


def read_ipc(buffer: pa.Buffer) -> pa.RecordBatch:
    return pa.ipc.open_stream(buffer).read_next_batch()


def encode(parcels: list[Parcel]) -> list[bytes | pa.Buffer]:
    """Lay parcels out as the pieces of one blob; `decode` is the inverse of joining them."""
    bodies = [ipc_pieces(parcel.batch) for parcel in parcels]
    index = [[p.targets, p.plus, size_of(body)] for p, body in zip(parcels, bodies, strict=True)]
    header = json.dumps(index, separators=(",", ":")).encode()
    header += b" " * (-(len(header) + _LENGTH_BYTES) % 8)  # Arrow wants its buffers aligned
    return [len(header).to_bytes(_LENGTH_BYTES, "little"), header, *chain.from_iterable(bodies)]


def decode(blob: bytes | pa.Buffer) -> Iterator[Parcel]:
    buffer = blob if isinstance(blob, pa.Buffer) else pa.py_buffer(blob)
    start = _LENGTH_BYTES + int.from_bytes(buffer.slice(0, _LENGTH_BYTES), "little")
    for targets, plus, size in json.loads(buffer.slice(_LENGTH_BYTES, start - _LENGTH_BYTES).to_pybytes()):
        yield Parcel(tuple(map(tuple, targets)), plus, read_ipc(buffer.slice(start, size)))
        start += size
