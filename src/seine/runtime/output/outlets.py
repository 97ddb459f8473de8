"""Where text leaves: a file that can be cut back, a folder, standard output, a function, or nowhere.

Every outlet takes whole micro-batches: `write` of whole lines, then `settle`, which gives the length to
cut back to if what follows must be repeated.
"""

from __future__ import annotations

import io
import os
import re
import stat
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple, Protocol, TypeAlias

from seine.disk_sync import make_folder, sync_to_disk
from seine.errors import RunError, SeineError
from seine.intake.retention_limit import RetentionLimit
from seine.runtime.output.segmented_file import LogSegment, SegmentedFile, cannot_write

_RESULTS = re.compile(r"[0-9]{12,}\.jsonl")  # the results of a micro-batch

Deliver = Callable[[bytes], None]  # takes the line of a record
Lines: TypeAlias = "bytes | memoryview"


@dataclass(frozen=True)
class Folder:
    """A folder that gets one file a micro-batch, as a destination of results."""

    path: str


class KeptLog(NamedTuple):
    """How long an output is, the segments that it has, and how much of it is kept."""

    length: int = 0
    segments: Sequence[LogSegment] = ()
    limit: RetentionLimit | None = None


class Outlet(Protocol):
    """What the sink writes to."""

    def write(self, lines: Lines) -> None:
        """Take whole lines, which may change when this returns."""
        ...

    def settle(self) -> int:
        """Make what was appended as durable as it can be; the new length."""
        ...

    def close(self) -> None: ...


class FolderFiles:
    """One file for each micro-batch that has text, whole or not there; its length is the number of batches.

    A batch that is repeated has the same name and the same text, so a file that is there stays
    as it is and whoever follows the folder sees each record once. Beyond a limit the oldest files go, never
    the newest; one that went is not written again, for it is older than the batch that is repeated.
    """

    def __init__(self, path: str, length: int, limit: RetentionLimit | None = None) -> None:
        self._path = path
        self._length = length
        self._limit = limit
        self._kept: deque[_KeptFile] | None = None  # the oldest first; not listed yet
        self._kept_bytes = 0
        self._hidden = os.path.join(path, ".next")
        try:
            make_folder(path)
            self._file: BinaryIO = open(self._hidden, "wb")  # noqa: SIM115 - close() closes it
        except OSError as error:
            raise SeineError(f"cannot write into folder '{path}': {error.strerror}") from error

    def write(self, lines: Lines) -> None:
        self._file.write(lines)

    def settle(self) -> int:
        if self._file.tell():
            self._publish(os.path.join(self._path, f"{self._length:012d}.jsonl"))
        self._length += 1
        if self._limit is not None:
            self._remove_past(self._limit)
        return self._length

    def _remove_past(self, limit: RetentionLimit) -> None:
        if self._kept is None:
            self._kept = deque(_kept_files(self._path))
            self._kept_bytes = sum(file.size for file in self._kept)
        kept, now = self._kept, time.time()
        while len(kept) > 1 and (
            (limit.seconds is not None and kept[0].written < now - limit.seconds)
            or (limit.bytes is not None and self._kept_bytes > limit.bytes)
        ):
            oldest = kept.popleft()
            self._kept_bytes -= oldest.size
            with suppress(FileNotFoundError):
                os.unlink(oldest.path)

    def close(self) -> None:
        self._file.close()

    def _publish(self, name: str) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if not os.path.exists(name):
            os.rename(self._hidden, name)
            if self._kept is not None:
                self._kept.append(_KeptFile.of(name))
                self._kept_bytes += self._kept[-1].size
        sync_to_disk(self._path)  # also the name of one that was there: who gave it may have been killed
        self._file = open(self._hidden, "wb")  # noqa: SIM115 - close() closes it


class _KeptFile(NamedTuple):
    """A file of a folder of results: when it was written, and how long it is."""

    path: str
    written: float
    size: int

    @staticmethod
    def of(path: str) -> _KeptFile:
        status = os.stat(path)
        return _KeptFile(path, status.st_mtime, status.st_size)


def _kept_files(folder: str) -> list[_KeptFile]:
    """The files of a folder of results, by the numbers of their batches."""
    names = sorted(name for name in os.listdir(folder) if _RESULTS.fullmatch(name))
    return [_KeptFile.of(os.path.join(folder, name)) for name in names]


class Stream:
    """A pipe, a terminal or a device: it cannot be cut back, so after a crash a batch may come twice."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, lines: Lines) -> None:
        self._file.write(lines)

    def settle(self) -> int:
        self._file.flush()
        return 0

    def close(self) -> None:
        if self._file is not sys.stdout.buffer:
            self._file.close()


class Discard:
    """Nowhere: for dead letters that nobody asked for."""

    def write(self, lines: Lines) -> None:
        return

    def settle(self) -> int:
        return 0

    def close(self) -> None:
        return


class Callback(Discard):
    """A function that gets the line of each record."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver

    def write(self, lines: Lines) -> None:
        try:
            for line in io.BytesIO(lines):
                self._deliver(line)
        except Exception as error:  # a user's code may raise anything
            raise RunError(f"the callback failed: {type(error).__name__}: {error}") from error


def open_outlet(out: str | Folder | Deliver | None, kept: KeptLog) -> Outlet:
    """The outlet of a destination, after what it has already; None is standard output."""
    if out is None:
        return Stream(sys.stdout.buffer)
    if isinstance(out, Folder):
        return FolderFiles(out.path, kept.length, kept.limit)
    return open_path(out, kept) if isinstance(out, str) else Callback(out)


def open_path(path: str, kept: KeptLog) -> Outlet:
    """A file to append to after what it has already, or a device or pipe of that name."""
    if not os.path.exists(path) or stat.S_ISREG(os.stat(path).st_mode):
        return SegmentedFile(path, *kept)
    try:
        return Stream(open(path, "wb"))
    except OSError as error:
        raise cannot_write(path, error) from error
