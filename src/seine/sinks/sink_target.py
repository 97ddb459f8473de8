"""What a sink delivers to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from seine.sinks.record_piece import MOST_PIECE, RecordPiece
from seine.sinks.sink_progress import SinkProgress


class SinkTarget(ABC):
    """A place outside: `write` returns when the records are there and stay there.

    Law: writing the same piece again, which happens after a crash, changes nothing (a webhook is called
    again, with the same idempotency key).
    """

    most_piece: ClassVar[int] = MOST_PIECE  # bytes of records at once, but for a record that is longer
    in_whole_batches = False  # whether a piece must end with a micro-batch, however much it has
    attempts: int | None = None  # after which a piece is given up; None: never

    def begin(self, progress: SinkProgress) -> None:  # noqa: B027 - not every target has to
        """Connect, before anything else; pieces follow from this progress on."""

    @abstractmethod
    def write(self, piece: RecordPiece) -> None:
        """Bring a piece there."""

    def rest(self) -> None:  # noqa: B027 - not every target has to
        """Nothing is to be delivered now: keep alive what would be forgotten."""

    def close(self) -> None:  # noqa: B027 - not every target has to
        """Let go of what was connected."""
