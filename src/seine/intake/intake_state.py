"""How far intake has got, as a journal entry keeps it: enough to go on from there."""

from __future__ import annotations

import os
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from seine.intake.lanes import Partition
from seine.rows.delta import NEVER


class Fingerprint(NamedTuple):
    """Length and hash of the beginning of a file: a file that lacks it is another file."""

    length: int = 0
    digest: str = ""


class LineCursor(Struct, frozen=True, tag="lines"):
    """A position in a text file: bytes and lines before it, what the file begins with, its header line.

    `seen` is how long the file was when it was looked at last.
    """

    path: str
    offset: int = 0
    line: int = 0
    fingerprint: Fingerprint = Fingerprint()
    header: tuple[str, ...] | None = None
    seen: int = 0


class MovedFile(Struct, frozen=True):
    """A position that belongs to another file than was thought: a copy, or the same on another device."""

    old: str
    new: str
    path: str


class LostBytes(Struct, frozen=True):
    """The end of a file that was renamed, removed or overwritten before it was read, from an offset on.

    At least `known` bytes are missing; whether there were more nobody knows.
    """

    key: str
    path: str
    offset: int
    line: int
    known: int

    @property
    def reason(self) -> str:
        """What is missing, in words."""
        extent = f"at least {self.known} bytes" if self.known else "whether there were any is not known"
        return f"missing: the bytes of '{self.path}' from offset {self.offset} on ({extent})"


class ParquetCursor(Struct, frozen=True, tag="parquet"):
    """A position in a Parquet file: the rows before it. Its time of change and size tell it from others."""

    path: str
    changed: int  # nanoseconds
    size: int
    row: int = 0
    rows: int = 0  # of the whole file


class ItemCursor(Struct, frozen=True, tag="items"):
    """A position in a file of documents: those before it. Its time of change and size tell it from others."""

    path: str
    changed: int  # nanoseconds
    size: int
    row: int = 0
    rows: int = 0  # of the whole file


def file_identity(status: os.stat_result, *, changes: bool = False) -> str:
    """Device and inode, by which a file is followed through renames; if it may not change, all of it."""
    identity = f"{status.st_dev}:{status.st_ino}"
    return f"{identity}:{status.st_mtime_ns}:{status.st_size}" if changes else identity


FileCursor: TypeAlias = LineCursor | ParquetCursor | ItemCursor


class AdmissionState(Struct, frozen=True):
    """What admission of a stream goes on with, beside the runs of punctuations that it names.

    `made` counts the runs that were ever made; `punctuations` names those that are kept, by scheme. `floor`
    is the watermark that it was given while it was idle.
    """

    clock: int = NEVER
    arrivals: int = 0
    made: int = 0
    punctuations: list[list[str]] = []
    floor: int = NEVER


class LineCounts(Struct, frozen=True):
    """The dead letters of a stream so far, how many of them were late, and the last one's reason."""

    dead: int = 0
    late: int = 0
    last_reason: str = ""


class SparkState(Struct, frozen=True):
    """What is known of a stream that Spark reads, beside its admission; walls are in microseconds.

    `clocks` is the largest timestamp of each clock value, `heard` when it sent last; the `silent` ones are
    left out of the least. `rows` were let in so far. `born` is the entry with which the stream began. A topic
    that is judged by partition has `partitions` instead, and `largest`, the largest timestamp let in.
    """

    clocks: dict[str, int] = {}
    heard: dict[str, int] = {}
    silent: tuple[str, ...] = ()
    rows: int = 0
    born: int = 0
    partitions: dict[str, Partition] = {}
    largest: int = NEVER

    @property
    def active(self) -> dict[str, int]:
        """The clocks of the values that are not left out."""
        return {value: time for value, time in self.clocks.items() if value not in self.silent}


class StreamState(Struct, frozen=True):
    """Where the reading of a stream is, by file, its admission, and what became of its lines.

    `latest` is the largest timestamp so far, where a bound on plain units needs it, and `heard` the wall
    clock when lines came last, in microseconds.
    """

    position: dict[str, FileCursor] = {}
    admission: AdmissionState = AdmissionState()
    counts: LineCounts = LineCounts()
    latest: int = NEVER
    heard: int = 0
    lost: tuple[LostBytes, ...] = ()  # the last few
    spark: SparkState | None = None


class IntakeState(Struct, frozen=True):
    """All streams, the latest event time of each domain, and the next id of a node at that moment.

    `wall` is the wall clock, in microseconds, by which idle streams and lines of the future were judged.
    `replays` has, of each query that is still given its history, the next entry of that.
    """

    streams: dict[str, StreamState] = {}
    now: dict[str, int] = {}
    next_id: int = 0
    wall: int = 0
    replays: dict[str, int] = {}
