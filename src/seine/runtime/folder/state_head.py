"""The head of the state of one stage in one bucket: it names what is alive. Imports nothing heavy."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, field

from seine.typed_json import msgpack_decoder, plain_number


class PartKey(NamedTuple):
    """A run of one node in a segment: no other run of that segment has this node and number."""

    node: int
    number: int


class StateHead(Struct, frozen=True):
    """What the operators remember, by node, and of each segment the runs that are alive."""

    nodes: dict[int, dict[str, Any]] = field(default_factory=dict)
    segments: dict[str, list[PartKey]] = field(default_factory=dict)

    def packed(self) -> bytes:
        """As MessagePack: a head is read and written by every stage in every micro-batch.

        >>> head = StateHead({7: {"rows": [1, -1.5]}}, {"ab": [PartKey(7, 1)]})
        >>> StateHead.unpacked(head.packed()) == head
        True
        """
        return _ENCODER.encode(self)

    @staticmethod
    def unpacked(blob: bytes) -> StateHead:
        return _DECODER.decode(blob)


_ENCODER = msgspec.msgpack.Encoder(enc_hook=plain_number)
_DECODER = msgpack_decoder(StateHead)
