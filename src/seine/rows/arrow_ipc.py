"""Record batches as Arrow IPC streams: written in pieces without a copy, read without one."""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa

_END = b"\xff\xff\xff\xff\0\0\0\0"  # of an IPC stream

Piece: TypeAlias = bytes | pa.Buffer


def ipc_pieces(batch: pa.RecordBatch) -> list[Piece]:
    """A batch as an Arrow IPC stream, in pieces: nothing is copied more than once.

    >>> batch = pa.record_batch({"c0": [1, 2]})
    >>> read_ipc(pa.py_buffer(b"".join(ipc_pieces(batch)))).equals(batch)
    True
    """
    if any(pa.types.is_dictionary(type_) for type_ in batch.schema.types):
        raise TypeError("dictionaries need messages of their own")
    return [batch.schema.serialize(), batch.serialize(), _END]


class _Gathered:
    """A file that keeps what is written to it, in pieces and not copied."""

    closed = False

    def __init__(self) -> None:
        self.pieces: list[Piece] = []

    def write(self, piece: Piece) -> int:
        self.pieces.append(piece)
        return len(piece)

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""


def ipc_views(batch: pa.RecordBatch) -> list[Piece]:
    """A batch as an Arrow IPC stream, in pieces that are its own memory: for one that is large.

    >>> batch = pa.record_batch({"c0": [1, None], "c1": ["a", "b"]})
    >>> read_ipc(pa.py_buffer(b"".join(ipc_views(batch)))).equals(batch)
    True
    """
    file = _Gathered()
    with pa.ipc.new_stream(pa.PythonFile(file, mode="w"), batch.schema) as writer:
        writer.write_batch(batch)
    return file.pieces


def size_of(pieces: list[Piece]) -> int:
    """The length in bytes of what the pieces make when they are joined."""
    return sum(map(len, pieces))


def read_ipc(buffer: pa.Buffer) -> pa.RecordBatch:
    """The batch of an IPC stream; its columns are views of the buffer."""
    return pa.ipc.open_stream(buffer).read_next_batch()
