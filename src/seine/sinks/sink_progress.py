"""How far a sink has come, on disk.

Law: before a piece goes to the target its end is noted, and after that the new position. So whatever a crash
leaves half done is done again with the very same records, under the same names.

    position      all before it is at the target
    pending       the end of the piece that may be there, or may not
"""

from __future__ import annotations

import os

from msgspec import Struct, structs

from seine.disk_sync import write_whole
from seine.runtime.folder.settings import read_record
from seine.typed_json import write_json


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


def read_progress(path: str, start: int) -> SinkProgress:
    """What was saved, or the beginning."""
    return read_record(path, SinkProgress) if os.path.exists(path) else SinkProgress(start)


def save_progress(path: str, progress: SinkProgress) -> None:
    """Make it durable."""
    write_whole(path, write_json(progress))
