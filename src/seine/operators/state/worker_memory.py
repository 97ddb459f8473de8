"""What a worker process may take of the machine's memory, for itself: pages that it shares do not count.

`RLIMIT_DATA` bounds what a process may write to and shares with nobody, mapped segments of state excluded.
What is reserved counts as well as what is used: stacks of threads, and room that allocators keep. So whoever
asks for more is refused there and then, at the node at work, and workers do not come to the point where the
kernel chooses whom to kill. Others may bring them there: processes of users' code and scripts that are tried
have limits of their own beside it. The limit is put so far above what the process has mapped now as it may
still take.

Law: the resident private memory of a process that is held is at most its limit, or what it was when it was
first held. Where there is no /proc, as on macOS, nothing is held.
"""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass

from seine.process_limits import bound_process

_PAGE = resource.getpagesize()
_ROOM_TO_TELL = 64_000_000  # bytes
_RESIDENT, _SHARED, _DATA = 1, 2, 5  # fields of /proc/self/statm, in pages


@dataclass(frozen=True)
class WorkerMemory:
    """The limit in bytes, and how much the process may map for it."""

    limit: int
    mapped: int

    @property
    def too_much(self) -> str:
        return f"took more than the {self.limit // 1_000_000:,} MB of memory that a worker may take"

    def taken(self) -> int:
        """The bytes that the process has to itself."""
        pages = _pages()
        return (pages[_RESIDENT] - pages[_SHARED]) * _PAGE

    def free(self) -> int:
        """The bytes that it may still ask for."""
        return max(0, self.mapped - _pages()[_DATA] * _PAGE)

    def give_room(self) -> None:
        """Let the process have a little more, so that it can tell what it was refused before it ends."""
        bound_process(resource.RLIMIT_DATA, self.mapped + _ROOM_TO_TELL)


_held: WorkerMemory | None = None


def held_memory() -> WorkerMemory | None:
    """What this process may take; None if it is not held."""
    return _held


def hold_memory(limit: int) -> None:
    """Let this process take no more than so many bytes, 0: as many as there are; it may be called again."""
    global _held
    if limit == (0 if _held is None else _held.limit) or not os.path.exists("/proc/self/statm"):
        return
    if limit == 0:
        _held = None
        bound_process(resource.RLIMIT_DATA, None)
        return
    pages = _pages()
    room = max(0, limit - (pages[_RESIDENT] - pages[_SHARED]) * _PAGE)
    mapped = bound_process(resource.RLIMIT_DATA, pages[_DATA] * _PAGE + room)
    _held = WorkerMemory(limit, mapped)


def _pages() -> list[int]:
    with open("/proc/self/statm", "rb") as file:
        return [*map(int, file.read().split())]
