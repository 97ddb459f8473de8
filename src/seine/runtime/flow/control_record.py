"""The control record: what every stage has to know of an entry, sent to each bucket with its rows."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from seine.rows.clock import Clock


class ControlRecord(Struct, frozen=True):
    """An entry, the network version that it runs on, and event time after it.

    With a `handover` it is the last entry of its pipeline: the one that goes on has so many stages.
    The network runs without the queries that are `withheld`. Nodes that are given rows of the past are
    `behind`: they have a clock of their own.
    """

    entry: int
    network: int
    clock: Clock
    handover: int = 0
    withheld: tuple[str, ...] = ()
    behind: tuple[tuple[tuple[int, ...], Clock], ...] = ()

    def clock_of(self, node: int) -> Clock:
        """Event time as a node is to see it."""
        return next((clock for nodes, clock in self.behind if node in nodes), self.clock)

    def packed(self) -> bytes:
        """As MessagePack; `unpacked` is the inverse.

        >>> record = ControlRecord(7, 1, Clock({"s": 5}))
        >>> ControlRecord.unpacked(record.packed()) == record
        True
        """
        return msgspec.msgpack.encode(self)

    @staticmethod
    def unpacked(blob: bytes) -> ControlRecord:
        return _DECODER.decode(blob)


_DECODER = msgspec.msgpack.Decoder(ControlRecord)
