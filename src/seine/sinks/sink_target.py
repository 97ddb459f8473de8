"""What a sink delivers to."""

from __future__ import annotations

from typing import Protocol

from seine.sinks.record_piece import RecordPiece
from seine.sinks.sink_progress import SinkProgress


class SinkTarget(Protocol):
    """A place outside: `write` returns when the records are there and stay there.

    Law: writing the same piece again, which happens after a crash, changes nothing (a webhook is called
    again, with the same idempotency key).
    """

    def begin(self, progress: SinkProgress) -> None:
        """Connect, before anything else; pieces follow from this progress on."""

    def write(self, piece: RecordPiece) -> None: ...

    def close(self) -> None: ...
