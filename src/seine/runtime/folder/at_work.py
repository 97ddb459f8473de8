"""What each worker process is doing, in a file that outlives it: which nodes are at work, in which task.

    at_work/<unique>      numbers: entry, task, count of nodes (-1: no task), the nodes

The file is mapped, so that to note a node costs no system call and needs no disk: the kernel keeps what a
process wrote when that one is killed. It is no state, and nothing of it is ever synced.
"""

from __future__ import annotations

import mmap
import os
import shutil
import uuid
from contextvars import ContextVar

from msgspec import Struct

_SIZE = 4096  # bytes; nodes that do not fit are not noted
_ENTRY, _TASK, _COUNT, _NODES = 0, 1, 2, 3  # where numbers are
_MOST_NODES = _SIZE // 8 - _NODES
_IDLE = -1
NO_TASK = -1
_MOST_RECORDS = 8  # folders that a process works in and has at hand

host_task: ContextVar[int] = ContextVar("host_task", default=NO_TASK)  # the host's number of this task


class AtWork(Struct, frozen=True):
    """A task that has begun and not ended in good order: its process is at work on it, or died."""

    entry: int
    task: int
    nodes: tuple[int, ...]


class WorkRecord:
    """The file of this process."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, uuid.uuid4().hex)
        os.makedirs(folder, exist_ok=True)
        with open(self._path, "x+b") as file:
            file.write(bytes(_SIZE))  # a page that has no room on the disk would kill who writes to it
            file.flush()
            self._numbers = memoryview(mmap.mmap(file.fileno(), _SIZE)).cast("q")
        self.end()

    def exists(self) -> bool:
        """Whether the file is still there: it may have been swept."""
        return os.path.exists(self._path)

    def begin(self, entry: int) -> None:
        """A task of an entry begins; no node is at work."""
        self._numbers[_ENTRY], self._numbers[_TASK], self._numbers[_COUNT] = entry, host_task.get(), 0

    def note(self, nodes: tuple[int, ...]) -> None:
        """These nodes are at work now."""
        numbers = self._numbers
        numbers[_COUNT] = 0
        for place, node in enumerate(nodes[:_MOST_NODES], _NODES):
            numbers[place] = node
        numbers[_COUNT] = min(len(nodes), _MOST_NODES)

    def end(self) -> None:
        """The task is over, well or with an error that is told elsewhere."""
        self._numbers[_COUNT] = _IDLE


_records: dict[tuple[int, str], WorkRecord] = {}  # by process and folder: a fork is another process


def work_record(folder: str) -> WorkRecord:
    """The record of this process in a folder."""
    key = os.getpid(), folder
    if key not in _records or not _records[key].exists():
        if len(_records) >= _MOST_RECORDS:
            _records.clear()
        _records[key] = WorkRecord(folder)
    return _records[key]


def read_at_work(folder: str) -> list[AtWork]:
    """The tasks that are at work, or were when their processes died; the folder may be cleared meanwhile."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    records = (_read(os.path.join(folder, name)) for name in names)
    return sorted(
        (one for one in records if one is not None), key=lambda one: (one.entry, one.task, one.nodes)
    )


def clear_at_work(folder: str) -> None:
    """Forget all; a process that goes on makes its file again with its next task."""
    shutil.rmtree(folder, ignore_errors=True)


def _read(path: str) -> AtWork | None:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError:  # it has just been cleared
        return None
    if len(content) < _SIZE:  # it is just being made
        return None
    numbers = memoryview(content).cast("q")
    count = numbers[_COUNT]
    if count == _IDLE:
        return None
    return AtWork(numbers[_ENTRY], numbers[_TASK], tuple(numbers[_NODES : _NODES + count]))
