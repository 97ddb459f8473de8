"""Parcels: many small Arrow batches in one blob, so that Spark moves few rows.

A blob is a JSON header, then each batch as an Arrow IPC stream. A batch may have
several targets: inputs with the same rows and the same key receive it once.

What one task produces: parcels for later stages, and results.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import msgspec
import pyarrow as pa

from seine.operators.state.work_budget import WorkBudget, WorkMeter
from seine.rows.arrow_ipc import Piece, ipc_pieces, read_ipc, size_of
from seine.runtime.output.results import Results
from seine.typed_json import json_decoder

_LENGTH_BYTES = 8


class Parcel(NamedTuple):
    """Rows on their way to ports: (node, port) pairs; `plus` tells new rows from early ends."""

    targets: tuple[tuple[int, int], ...]
    plus: bool
    batch: pa.RecordBatch


class _ParcelHeader(NamedTuple):
    """Where a batch goes, and the bytes that it takes."""

    targets: tuple[tuple[int, int], ...]
    plus: bool
    size: int


_HEADERS = json_decoder(list[_ParcelHeader])


def encode(parcels: list[Parcel]) -> list[Piece]:
    """Lay parcels out as the pieces of one blob; `decode` is the inverse of joining them."""
    bodies = [ipc_pieces(parcel.batch) for parcel in parcels]
    index = [_ParcelHeader(p.targets, p.plus, size_of(body)) for p, body in zip(parcels, bodies, strict=True)]
    header = msgspec.json.encode(index)
    header += b" " * (-(len(header) + _LENGTH_BYTES) % 8)  # Arrow wants its buffers aligned
    return [len(header).to_bytes(_LENGTH_BYTES, "little"), header, *chain.from_iterable(bodies)]


def decode(blob: Piece) -> Iterator[Parcel]:
    """The parcels of a blob; their columns are views of it."""
    buffer = blob if isinstance(blob, pa.Buffer) else pa.py_buffer(blob)
    start = _LENGTH_BYTES + int.from_bytes(buffer.slice(0, _LENGTH_BYTES), "little")
    for targets, plus, size in _HEADERS.decode(buffer.slice(_LENGTH_BYTES, start - _LENGTH_BYTES)):
        yield Parcel(targets, plus, read_ipc(buffer.slice(start, size)))
        start += size


class Emission:
    """Parcels by stage and bucket, the results of the task, the meter of its spending, and when it began."""

    def __init__(self, results: Results, meter: WorkMeter | None = None) -> None:
        self.meter = meter or WorkMeter(WorkBudget())
        self.parcels: dict[tuple[int, int], list[Parcel]] = defaultdict(list)
        self.kept: list[Parcel] = []  # for nodes that are chained to those of this task
        self.results = results
        self.began = time.perf_counter()
        self.sent: Counter[int] = Counter()  # rows, by the node that sent them on
