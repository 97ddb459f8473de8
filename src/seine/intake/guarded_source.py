"""The source of a stream behind a guard: whatever is wrong with its files harms this stream alone.

A followed source that fails is closed and put in quarantine. When it is tried again it is opened at the
position after the last admitted line, so that nothing is lost or read twice. A source that is read to its end
has nobody to wait for: there a failure is an error.

Quarantine of a source that fails: its stream waits, the others go on, and it is tried again by itself.

It is tried again when its files are others than they were, or after a while in any case, for a fault may lie
elsewhere. Looking is cheap and gets rarer; the files are opened only to try.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import pyarrow as pa

from seine.algebra.definitions import StreamDef
from seine.backoff import Backoff
from seine.errors import RunError, SeineError, SourceError
from seine.intake.files import Files
from seine.intake.formats import LineParser, Piece, Reader, open_source
from seine.intake.intake_state import FileCursor, LostBytes, MovedFile
from seine.intake.parsed import Parsed, refuse_documents
from seine.intake.record_layout import RecordLayout
from seine.intake.stream_status import SourceCondition

_logger = logging.getLogger(__name__)

_FAULTS = (SeineError, OSError, pa.ArrowException)


class Surroundings(NamedTuple):
    """How sources are read: followed or to their end, who hears of oddities, and the wall clock."""

    follow: bool = False
    notice: Callable[[str], None] = lambda text: None
    wall: Callable[[], float] = time.time  # seconds of UTC since 1970


class GuardedSource:
    """Reads and parses the files of one stream."""

    def __init__(
        self,
        stream: StreamDef,
        layout: RecordLayout,
        position: Mapping[str, FileCursor],
        surroundings: Surroundings,
        *,
        refuse: bool,
    ) -> None:
        """With `refuse` a fault that can be seen now is an error; else the stream waits from the start."""
        self._stream, self._layout, self._surroundings = stream, layout, surroundings
        self._opened: tuple[Reader, LineParser] | None = None
        self._quarantine: Quarantine | None = None
        self.gone: set[str] = set()  # files that need no position any more
        self.lost: list[LostBytes] = []  # what is missing of files; the feed takes it, and what has moved
        self.moved: list[MovedFile] = []
        self.condition = SourceCondition("running", surroundings.wall())  # replaced, never changed
        if not refuse:
            self._reopen(position)
            return
        try:
            self._open(position, look=True)
        except OSError as fault:
            raise SourceError(self._path, f"cannot read '{self._path}': {fault.strerror}") from None

    def read(
        self, lines: int, size: int, position: Mapping[str, FileCursor] | None
    ) -> tuple[Piece, Parsed] | None:
        """The next piece within both limits, if there is one now.

        With a `position` it is that after the last line that was read: all lines before are admitted. Then
        the piece has at least one line, however long, and a source in quarantine may be opened again.
        """
        if self._opened is None and (position is None or not self._reopen(position)):
            return None
        assert self._opened is not None
        reader, parser = self._opened
        try:
            piece = reader.read(lines, size, force=position is not None)
            parsed = None if piece is None else refuse_documents(self._layout, parser.parse(piece))
        except _FAULTS as fault:
            self._fail(fault)
            return None
        self._collect(reader)
        self._note_health(piece, caught_up=piece is None and position is not None)
        return None if parsed is None else (piece, parsed)

    def exhausted(self) -> bool:
        """Whether nothing more will come; never so in follow mode."""
        if self._surroundings.follow or self._opened is None:
            return False
        try:
            return self._opened[0].exhausted()
        except SourceError as fault:
            raise _as_run_error(fault) from None

    def close(self) -> None:
        """Close all files."""
        if self._opened is not None:
            self._collect(self._opened[0])
            self.gone |= self._opened[0].gone
            self._opened[0].close()
            self._opened = None

    def _collect(self, reader: Reader) -> None:
        self.lost += reader.lost
        self.moved += reader.moved
        reader.lost, reader.moved = [], []

    def unread(self) -> Mapping[str, FileCursor]:
        """Files whose turn has not come: where they are renamed meanwhile they must be known."""
        return self._opened[0].unread() if self._opened is not None else {}

    def forgotten(self) -> set[str]:
        """The keys of files that need no position any more."""
        return self.gone if self._opened is None else self._opened[0].gone

    def _open(self, position: Mapping[str, FileCursor], look: bool = False) -> None:
        kept = {key: cursor for key, cursor in position.items() if key not in self.gone}
        follow, notice, _ = self._surroundings
        what = f"stream {self._stream.name}"
        self._opened = open_source(
            what, self._stream.source, self._layout, kept, follow=follow, notice=notice, look=look
        )
        self._opened[0].gone |= self.gone

    def _reopen(self, position: Mapping[str, FileCursor]) -> bool:
        if self._quarantine is not None and not self._quarantine.is_due(self._surroundings.wall()):
            return False
        try:
            self._open(position)
        except _FAULTS as fault:
            self._fail(fault)
        return self._opened is not None

    def _fail(self, fault: Exception) -> None:
        """Put the source in quarantine, or leave it there."""
        self.close()
        if not self._surroundings.follow:
            raise _as_run_error(fault) from None
        now, files = self._surroundings.wall(), Files(self._path)
        if self._quarantine is None:
            self._quarantine = Quarantine(files, now)
        self._quarantine.failed_again(now)
        file = getattr(fault, "file", None) or getattr(fault, "filename", None) or self._path
        reason = fault.message if isinstance(fault, SeineError) else _first_line(fault)
        self._condemn(SourceCondition("failed", self._quarantine.since, str(file), reason))

    def _condemn(self, condition: SourceCondition) -> None:
        if (self.condition.file, self.condition.reason) != (condition.file, condition.reason):
            facts = {"stream": self._stream.name, "path": condition.file, "reason": condition.reason}
            _logger.warning("source failed", extra=facts)
            self._surroundings.notice(f"stream {self._stream.name} waits: {condition.reason}")
        self.condition = condition

    def _note_health(self, piece: Piece | None, caught_up: bool) -> None:
        """After a read that did not fail: whether the source is as it should be."""
        files = Files(self._path)
        if self._surroundings.follow and caught_up and files.is_absent and self._reader_knows_files():
            if self.condition.state != "failed":
                reason = f"'{self._path}' is not there any more"
                self._condemn(SourceCondition("failed", self._surroundings.wall(), self._path, reason))
            return
        if self.condition.state != "failed":
            return
        bad = self.condition.file
        if caught_up or (piece is not None and piece.path == bad) or Files(bad).is_absent:
            self._quarantine = None
            self.condition = SourceCondition("running", self._surroundings.wall())
            _logger.info("source is read again", extra={"stream": self._stream.name, "path": bad})

    def _reader_knows_files(self) -> bool:
        return self._opened is not None and self._opened[0].has_read()

    @property
    def _path(self) -> str:
        return self._stream.source.path if self._stream.source is not None else ""


def _as_run_error(fault: Exception) -> RunError:
    if isinstance(fault, SeineError):
        return RunError(fault.message, hint=fault.hint)
    return RunError(f"cannot read a source: {_first_line(fault)}")


def _first_line(fault: Exception) -> str:
    return str(fault).split("\n")[0][:200]


_LOOK_SECONDS = 0.25, 8.0  # the shortest and the longest pause between two looks at the files
_RETRY_SECONDS = 60.0  # it is tried again even if they are the same

FileMark = tuple[str, int, int, int, int]  # path, inode, size, times of change of content and of permissions


class Quarantine:
    """Since when a source fails, and when to try it again; times are seconds of the wall clock."""

    def __init__(self, files: Files, now: float) -> None:
        self.since = now
        self._files = files
        self._backoff = Backoff(*_LOOK_SECONDS)
        self.failed_again(now)

    def failed_again(self, now: float) -> None:
        """Note that it was tried in vain."""
        self._marks = _marks_of(self._files)
        self._look_again(now)
        self._retry_at = now + _RETRY_SECONDS

    def is_due(self, now: float) -> bool:
        """Whether to try again now: its files have changed, or it is long enough ago."""
        if self._look_at <= now or now < self._look_at - max(_LOOK_SECONDS):  # or the clock was put back
            self._look_again(now)
            return now >= self._retry_at or _marks_of(self._files) != self._marks
        return False

    def _look_again(self, now: float) -> None:
        self._look_at = now + (self._backoff.next_seconds() or 0.0)


def _marks_of(files: Files) -> tuple[FileMark, ...] | str:
    """What tells the files of a source from other files, or from themselves before a change."""
    try:
        statuses = [(path, os.stat(path)) for path in files.listing()]
    except OSError as error:
        return str(error)
    return tuple((path, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for path, one in statuses)
