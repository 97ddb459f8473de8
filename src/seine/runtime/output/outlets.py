"""Where text leaves: a file that can be cut back, a folder, standard output, a function, or nowhere.

Every outlet takes whole micro-batches: `append` and `write`, then `settle`, which gives the length to
cut back to if what follows must be repeated.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

from seine.errors import RunError, SeineError

_PIECE = 1 << 20
_PUT_BACK = "put it back as it was, or name a new folder for the checkpoint or the service"

Deliver = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Folder:
    """A folder that gets one file a micro-batch, as a destination of results."""

    path: str


class Outlet(Protocol):
    """What the sink writes to."""

    def append(self, stream: BinaryIO) -> None: ...

    def write(self, line: bytes) -> None: ...

    def settle(self) -> int:
        """Make what was appended as durable as it can be; the new length."""
        ...

    def close(self) -> None: ...


class AppendedFile:
    """A file that grows by whole micro-batches.

    What came after the last of them is cut off when the first one is added, not before: a run that is
    refused leaves the file as it was.
    """

    def __init__(self, path: str, file: BinaryIO, length: int) -> None:
        self._file = file
        self._length: int | None = length
        size = os.fstat(file.fileno()).st_size
        if size < length:
            file.close()
            raise SeineError(
                f"'{path}' is shorter than the checkpoint says ({size} < {length} bytes)",
                hint=_PUT_BACK,
            )

    def append(self, stream: BinaryIO) -> None:
        self._cut_back()
        shutil.copyfileobj(stream, self._file, _PIECE)

    def write(self, line: bytes) -> None:
        self._cut_back()
        self._file.write(line)

    def _cut_back(self) -> None:
        if self._length is not None:
            self._file.truncate(self._length)
            self._file.seek(self._length)
            self._length = None

    def settle(self) -> int:
        self._cut_back()
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        self._file.close()


class FolderFiles:
    """One file for each micro-batch that has text, whole or not there; its length is the number of batches.

    A batch that is repeated has the same name and the same text, so a file that is there stays
    as it is and whoever follows the folder sees each record once.
    """

    def __init__(self, path: str, length: int) -> None:
        self._path = path
        self._length = length
        self._hidden = os.path.join(path, ".next")
        try:
            os.makedirs(path, exist_ok=True)
            self._file: BinaryIO = open(self._hidden, "wb")  # noqa: SIM115 - close() closes it
        except OSError as error:
            raise SeineError(f"cannot write into folder '{path}': {error.strerror}") from error

    def append(self, stream: BinaryIO) -> None:
        shutil.copyfileobj(stream, self._file, _PIECE)

    def write(self, line: bytes) -> None:
        self._file.write(line)

    def settle(self) -> int:
        if self._file.tell():
            self._publish(os.path.join(self._path, f"{self._length:012d}.jsonl"))
        self._length += 1
        return self._length

    def close(self) -> None:
        self._file.close()

    def _publish(self, name: str) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if not os.path.exists(name):
            os.rename(self._hidden, name)
        self._file = open(self._hidden, "wb")  # noqa: SIM115 - close() closes it


class Stream:
    """A pipe, a terminal or a device: it cannot be cut back, so after a crash a batch may come twice."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def append(self, stream: BinaryIO) -> None:
        shutil.copyfileobj(stream, self._file, _PIECE)

    def write(self, line: bytes) -> None:
        self._file.write(line)

    def settle(self) -> int:
        self._file.flush()
        return 0

    def close(self) -> None:
        if self._file is not sys.stdout.buffer:
            self._file.close()


class Discard:
    """Nowhere: for dead letters that nobody asked for."""

    def append(self, stream: BinaryIO) -> None:
        return

    def write(self, line: bytes) -> None:
        return

    def settle(self) -> int:
        return 0

    def close(self) -> None:
        return


class Callback(Discard):
    """A function that gets each record."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver

    def append(self, stream: BinaryIO) -> None:
        for line in stream:
            self.write(line)

    def write(self, line: bytes) -> None:
        try:
            self._deliver(json.loads(line))
        except Exception as error:  # a user's code may raise anything
            raise RunError(f"the callback failed: {type(error).__name__}: {error}") from error


def open_outlet(out: str | Folder | Deliver | None, length: int) -> Outlet:
    """The outlet of a destination, after what it has already; None is standard output."""
    if out is None:
        return Stream(sys.stdout.buffer)
    if isinstance(out, Folder):
        return FolderFiles(out.path, length)
    return open_path(out, length) if isinstance(out, str) else Callback(out)


def open_path(path: str, length: int) -> Outlet:
    """A file to append to after its first `length` bytes, or a device or pipe of that name."""
    if length and not os.path.exists(path):
        raise SeineError(f"'{path}' is gone, and the checkpoint has {length} bytes in it", hint=_PUT_BACK)
    try:
        file = open(path, "r+b" if _is_file(path) else "wb")  # noqa: SIM115 - the outlet closes it
    except OSError as error:
        raise SeineError(
            f"cannot write '{path}': {error.strerror}", hint="name a file in a folder you may write to"
        ) from error
    return AppendedFile(path, file, length) if _is_file(path) else Stream(file)


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False
