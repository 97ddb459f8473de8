"""A file that grows by whole micro-batches, in segments of which the oldest go beyond a limit.

Law: the segments that count are those that the record of a micro-batch names. A segment is
created before a record names it, and removed after one no longer does. So whatever step a kill comes
between, what was named is there, and what else is there is removed when something is delivered next.

    append, sync ─> create the next segment ─> record (durable) ─> remove what it no longer names
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import BinaryIO

from msgspec import Struct

from seine.disk_sync import folder_of, sync_to_disk
from seine.errors import SeineError
from seine.intake.retention_limit import RetentionLimit
from seine.runtime.output.log_files import LogFiles, segment_path, segments_on_disk

_PARTS = 8  # of what is kept, that a segment has: so much more may be there than the limit says
PUT_BACK = "put it back as it was, or name a new folder for the checkpoint or the service"


class LogSegment(Struct, frozen=True):
    """Where a segment starts, and when its first and last micro-batches with text came, in Unix time."""

    start: int
    began: float = 0.0
    last: float = 0.0


class SegmentedFile:
    """An outlet whose `segments` have to be recorded with each micro-batch; then `tidy` may be called.

    What came after the last micro-batch is cut off when the next is added, not before: a run that is refused
    leaves the file as it was. Without a limit nothing goes, and no further segment is begun.
    """

    def __init__(
        self,
        path: str,
        length: int,
        segments: Sequence[LogSegment] = (),
        limit: RetentionLimit | None = None,
    ) -> None:
        self.segments = tuple(segments) or (LogSegment(0),)
        self._path, self._limit = path, limit
        self._refuse_changed(length)
        self._file = self._open(self.segments[-1].start)
        self._settled = length - self.segments[-1].start  # bytes of the last one
        self._is_cut_back = False
        self._is_named = False  # whether its name is known to last
        self._is_untidy = limit is not None or len(self.segments) > 1

    @property
    def files(self) -> LogFiles:
        """The segments, as readers see them."""
        return LogFiles(self._path, tuple(one.start for one in self.segments))

    def write(self, lines: bytes | memoryview) -> None:
        self._cut_back()
        self._file.write(lines)

    def settle(self) -> int:
        self._cut_back()
        self._file.flush()
        os.fsync(self._file.fileno())
        if not self._is_named:
            sync_to_disk(folder_of(self._path))
            self._is_named = True
        size, now, active = self._file.tell(), time.time(), self.segments[-1]
        if size > self._settled:
            noted = LogSegment(active.start, active.began or now, now)
            self.segments = (*self.segments[:-1], noted)
        self._settled = size
        if self._limit is not None:
            self._keep(self._limit, active.start + size, now)
        return active.start + size

    def tidy(self) -> None:
        """Remove what no record names any more."""
        if not self._is_untidy:
            return
        named = {one.start for one in self.segments}
        for start, path in segments_on_disk(self._path).items():
            if start not in named:
                os.unlink(path)
        self._is_untidy = False

    def close(self) -> None:
        self._file.close()

    def _keep(self, limit: RetentionLimit, length: int, now: float) -> None:
        """Begin another segment if this one has its part, and name no longer what is past."""
        if _is_full(self.segments[-1], length, now, limit):
            self._begin(length)
        kept = within(limit, self.segments, length, now)
        self._is_untidy = self._is_untidy or len(kept) < len(self.segments)
        self.segments = kept

    def _begin(self, start: int) -> None:
        """Go on in another file."""
        file = open(segment_path(self._path, start), "w+b")  # noqa: SIM115 - close() closes it
        os.fchmod(file.fileno(), stat.S_IMODE(os.fstat(self._file.fileno()).st_mode))
        sync_to_disk(folder_of(self._path))
        self._file.close()
        self._file = file
        self._settled = 0
        self.segments = (*self.segments, LogSegment(start))

    def _cut_back(self) -> None:
        if not self._is_cut_back:
            self._file.truncate(self._settled)
            self._file.seek(self._settled)
            self._is_cut_back = True

    def _open(self, start: int) -> BinaryIO:
        path = segment_path(self._path, start)
        try:
            return open(path, "r+b" if os.path.exists(path) else "w+b")
        except OSError as error:
            raise cannot_write(path, error) from error

    def _refuse_changed(self, length: int) -> None:
        """Refuse files that lack something of what was delivered."""
        ends = [one.start for one in self.segments[1:]] + [length]
        for segment, end in zip(self.segments, ends, strict=True):
            path, wanted = segment_path(self._path, segment.start), end - segment.start
            if wanted and not os.path.exists(path):
                message = f"'{path}' is gone, and the checkpoint has {wanted} bytes in it"
                raise SeineError(message, hint=PUT_BACK)
            if wanted and (size := os.path.getsize(path)) < wanted:
                message = f"'{path}' is shorter than the checkpoint says ({size} < {wanted} bytes)"
                raise SeineError(message, hint=PUT_BACK)


def cannot_write(path: str, error: OSError) -> SeineError:
    """The refusal of an output."""
    return SeineError(
        f"cannot write '{path}': {error.strerror}", hint="name a file in a folder you may write to"
    )


def within(
    limit: RetentionLimit, segments: Sequence[LogSegment], length: int, now: float
) -> tuple[LogSegment, ...]:
    """The segments of a log of a length that a limit leaves at a time; the last always stays.

    >>> segments = [LogSegment(0, 1.0, 5.0), LogSegment(10, 6.0, 9.0), LogSegment(30)]
    >>> [one.start for one in within(RetentionLimit(seconds=3), segments, 30, 10.0)]
    [10, 30]
    >>> [one.start for one in within(RetentionLimit(bytes=25), segments, 32, 10.0)]
    [10, 30]
    """
    gone = 0
    for one, _ in pairwise(segments):
        old = limit.seconds is not None and one.last < now - limit.seconds
        if not old and (limit.bytes is None or length - one.start <= limit.bytes):
            break
        gone += 1
    return tuple(segments[gone:])


def _is_full(segment: LogSegment, length: int, now: float, limit: RetentionLimit) -> bool:
    if length == segment.start:
        return False
    if limit.bytes is not None:
        return (length - segment.start) * _PARTS >= limit.bytes
    return limit.seconds is not None and (now - segment.began) * _PARTS >= limit.seconds
