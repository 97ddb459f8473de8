"""The control record: what every stage has to know of an entry, sent to each bucket with its rows."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from seine.intake.journal import Entry
from seine.rows.clock import Clock, ClockPart, raise_clock
from seine.typed_json import msgpack_decoder


class ControlRecord(Struct, frozen=True):
    """An entry, the network version that it runs on, and event time after it.

    With a `handover` it is the last entry of its pipeline: the one that goes on has so many stages.
    The network runs without the queries that are `withheld`. Nodes that are given rows of the past are
    `behind`: they have a clock of their own. A task that reads a source sends a record of its own, with its
    `parts` of the clock; all of an entry are merged where they are used.
    """

    entry: int
    network: int
    clock: Clock
    handover: int = 0
    withheld: tuple[str, ...] = ()
    behind: tuple[tuple[tuple[int, ...], Clock], ...] = ()
    parts: tuple[ClockPart, ...] = ()

    @staticmethod
    def of(entry: Entry, parts: tuple[ClockPart, ...] = ()) -> ControlRecord:
        """The control record of an entry."""
        behind = tuple((replay.receivers, replay.clock) for replay in entry.replays if not replay.done)
        return ControlRecord(
            entry.number, entry.network, entry.clock, entry.handover, entry.withheld, behind, parts
        )

    @staticmethod
    def merged(records: Sequence[ControlRecord]) -> ControlRecord | None:
        """The one record that those of all tasks make; None if there is none.

        >>> part = ClockPart("s", "plain", 0, {"": 5}, {"": 9}, 9)
        >>> one = ControlRecord(7, 1, Clock({"s": 5}), parts=(part,))
        >>> ControlRecord.merged([one, replace(one, parts=())]).clock.watermarks
        {'s': 9}
        """
        if not records:
            return None
        alike = {replace(record, parts=()).packed() for record in records}
        if len(alike) > 1:
            raise RuntimeError(f"tasks of one micro-batch are of different entries: {len(alike)}")
        parts = [part for record in records for part in record.parts]
        if not parts:
            return records[0]
        return replace(records[0], clock=raise_clock(records[0].clock, parts), parts=())

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


_DECODER = msgpack_decoder(ControlRecord)
