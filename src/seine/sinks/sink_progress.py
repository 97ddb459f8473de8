"""What a sink delivers to, and how far it has come, as a register of the pipeline's store has it.

Law: before a piece goes to the target its end is noted, and after that the new position. So whatever a crash
leaves half done is done again with the very same records, under the same names.

    position      all before it is at the target
    pending       the end of the piece that may be there, or may not
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import ClassVar

from msgspec import Struct, structs

from seine.runtime.folder.settings import damaged
from seine.sinks.record_piece import MOST_PIECE, RecordPiece
from seine.storage.log import Register
from seine.storage.store import Store
from seine.typed_json import read_json, write_json

SINK_PROGRESS = "sink_progress"


class MissedResults(Struct, frozen=True):
    """What was no longer kept when a sink came to it: bytes in all, the last gap, and when it was found."""

    bytes: int
    start: int
    end: int
    since: str


class SinkProgress(Struct, frozen=True):
    """The position of a sink in the results, in bytes, and how many records it has delivered."""

    position: int
    pending: int | None = None
    records: int = 0
    undelivered: int = 0  # records that were given up
    missed: MissedResults | None = None

    def begun(self, end: int) -> SinkProgress:
        """The piece up to `end` is about to be delivered."""
        return structs.replace(self, pending=end)

    def done(self, end: int, records: int) -> SinkProgress:
        """The piece up to `end` is delivered.

        >>> SinkProgress(10).begun(30).done(30, 2)
        SinkProgress(position=30, pending=None, records=2, undelivered=0, missed=None)
        """
        return structs.replace(self, position=end, pending=None, records=self.records + records)

    def given_up(self, end: int, records: int) -> SinkProgress:
        """The piece up to `end` is set aside."""
        return structs.replace(self, position=end, pending=None, undelivered=self.undelivered + records)

    def gone_on(self, first: int, since: str) -> SinkProgress:
        """What comes before `first` is no longer kept.

        >>> SinkProgress(10).gone_on(30, "noon").gone_on(40, "one").missed
        MissedResults(bytes=30, start=30, end=40, since='one')
        """
        before = 0 if self.missed is None else self.missed.bytes
        missed = MissedResults(before + first - self.position, self.position, first, since)
        return structs.replace(self, position=first, pending=None, missed=missed)


def progress_of(store: Store, identity: str) -> Register:
    """Where the progress of a sink is."""
    return Register(store, f"{SINK_PROGRESS}/{identity}")


def forget_others(store: Store, identities: Collection[str]) -> None:
    """Remove the progress of all sinks but these."""
    store.delete([name for name in store.list(f"{SINK_PROGRESS}/") if name.split("/")[1] not in identities])


def read_progress(register: Register, start: int) -> SinkProgress:
    """What was saved, or the beginning."""
    text = register.read()
    try:
        return SinkProgress(start) if text is None else read_json(text, SinkProgress)
    except ValueError:
        raise damaged(SINK_PROGRESS) from None


def save_progress(register: Register, progress: SinkProgress) -> None:
    """Make it durable."""
    register.write(write_json(progress))


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
