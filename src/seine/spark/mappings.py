"""Files that this process has mapped, by path: to map one anew costs a page fault for each page that is read.

Only for files whose names are never used twice: what is mapped is right for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

# A file that nobody asked for in so many turns is let go, and so is the disk space of a removed one.
_MOST_TURNS = 16


class Mappings:
    """Mapped files; a turn is a task."""

    def __init__(self) -> None:
        self._turn = 0
        self._buffers: dict[str, tuple[int, pa.Buffer]] = {}

    def next_turn(self) -> None:
        self._turn += 1
        old = [path for path, (turn, _) in self._buffers.items() if turn < self._turn - _MOST_TURNS]
        for path in old:
            del self._buffers[path]

    def get(self, path: str) -> pa.Buffer | None:
        """The mapped file of that path, if there is one."""
        mapping = self._buffers.get(path)
        if mapping is not None:
            self._buffers[path] = self._turn, mapping[1]
        return mapping[1] if mapping else None

    def map(self, path: str) -> pa.Buffer:
        """Map a file that is there."""
        import pyarrow as pa

        buffer = pa.memory_map(path).read_buffer()
        self._buffers[path] = self._turn, buffer
        return buffer

    def forget(self, path: str) -> None:
        self._buffers.pop(path, None)
