"""Reads pieces of the results by position."""

from __future__ import annotations

import os

from seine.errors import RunError
from seine.runtime.output.log_files import LogFiles, TooOldError
from seine.runtime.output.range_chain import ByteRange

_MORE = 1 << 16  # bytes at a time while the end of a line is looked for


class ResultFile:
    """Reads pieces of the results by position. What has gone meanwhile is refused as too old."""

    def __init__(self, files: LogFiles) -> None:
        self._files = files
        self._open: dict[str, int] = {}

    def __enter__(self) -> ResultFile:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open.values():
            os.close(file)

    def read(self, start: int, end: int) -> bytes:
        pieces = []
        for path, begin, stop in self._files.pieces(start, end):
            file = self._file(path, start)
            while begin < stop:
                piece = os.pread(file, stop - begin, begin)
                if not piece:
                    raise RunError(
                        f"'{path}' is shorter than what was delivered to it",
                        hint="put back the file that the service wrote",
                    )
                pieces.append(piece)
                begin += len(piece)
        return b"".join(pieces)

    def _file(self, path: str, position: int) -> int:
        if path not in self._open:
            try:
                self._open[path] = os.open(path, os.O_RDONLY)
            except FileNotFoundError:
                later = self._files.next_start(position)
                if later is None:  # the last one never goes
                    raise
                raise TooOldError(position, later) from None
        return self._open[path]

    def line_start(self, position: int, within: ByteRange) -> int:
        """The first beginning of a line at a position or after it, within whole lines."""
        known = position == within.start or position in self._files.starts
        if known or self.read(position - 1, position) == b"\n":
            return position
        return position + len(self._rest_of_line(position, within.end))

    def lines(self, wanted: ByteRange, most: int) -> bytes:
        """Whole lines from a range of them: `most` bytes or less, but at least one line."""
        start, end = wanted
        text = self.read(start, min(end, start + max(most, 1)))
        if start + len(text) == end:
            return text
        whole = text.rfind(b"\n") + 1
        return text[:whole] if whole else text + self._rest_of_line(start + len(text), end)

    def _rest_of_line(self, position: int, end: int) -> bytes:
        rest = b""
        while b"\n" not in rest and position < end:
            rest += (piece := self.read(position, min(end, position + _MORE)))
            position += len(piece)
        return rest[: rest.find(b"\n") + 1]
