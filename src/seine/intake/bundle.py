"""A record and batches of rows as one blob: written in pieces, read without a copy.

length of the index | length of the record | index: names and sizes | the record | padding | parts, aligned
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa

from seine.rows.arrow_ipc import Piece, read_ipc, size_of
from seine.typed_json import read_json, write_json

_ALIGN = 64
_LENGTH_BYTES = 8


class _Part(NamedTuple):
    """A part in the index, with the bytes that it takes."""

    name: str
    size: int


def bundle(record: bytes, parts: Mapping[str, list[Piece]]) -> list[Piece]:
    """The pieces of a blob that has a record and, by name, parts.

    >>> from seine.rows.arrow_ipc import ipc_pieces
    >>> pieces = bundle(b"{}", {"s": ipc_pieces(pa.record_batch({"c0": [1, 2]})), "t": [b"text"]})
    >>> read = Bundle(pa.py_buffer(b"".join(pieces)))
    >>> read.record, read.batch("s")["c0"].to_pylist(), read.part("t").to_pybytes()
    (b'{}', [1, 2], b'text')
    """
    sizes = [_Part(name, size_of(body)) for name, body in parts.items()]
    index = write_json(sizes)
    head = _length(index) + _length(record) + index + record
    pieces: list[Piece] = [head, bytes(-len(head) % _ALIGN)]
    for (_, size), body in zip(sizes, parts.values(), strict=True):
        pieces += [*body, bytes(-size % _ALIGN)]
    return pieces


class Bundle:
    """A blob that `bundle` made; a ValueError if it is none, or not whole."""

    def __init__(self, blob: pa.Buffer) -> None:
        lengths = [self._length(blob, place) for place in (0, _LENGTH_BYTES)]
        record = 2 * _LENGTH_BYTES + lengths[0]
        offset = record + lengths[1]
        if offset > len(blob):
            raise ValueError("it is not whole")
        index = read_json(blob[2 * _LENGTH_BYTES : record].to_pybytes(), list[_Part])
        self.record: bytes = blob[record:offset].to_pybytes()
        self._parts: dict[str, pa.Buffer] = {}
        for name, size in index:
            offset += -offset % _ALIGN
            self._parts[name] = blob.slice(offset, size)
            offset += size
        if offset > len(blob):
            raise ValueError("it is not whole")

    def part(self, name: str) -> pa.Buffer:
        """A part; a KeyError if there is none of that name."""
        return self._parts[name]

    def pieces(self) -> dict[str, list[Piece]]:
        """The parts, as `bundle` takes them."""
        return {name: [part] for name, part in self._parts.items()}

    def batch(self, name: str) -> pa.RecordBatch:
        """The rows of a part; its columns are views of the blob."""
        return read_ipc(self._parts[name])

    @staticmethod
    def _length(blob: pa.Buffer, place: int) -> int:
        return int.from_bytes(blob[place : place + _LENGTH_BYTES].to_pybytes(), "little")


def _length(content: bytes) -> bytes:
    return len(content).to_bytes(_LENGTH_BYTES, "little")
