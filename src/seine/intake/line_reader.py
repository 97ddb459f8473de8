"""A resumable reader of text files, block by block of whole lines, through rotation and truncation."""

from __future__ import annotations

import csv
import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from seine.algebra.arrays import IntArray
from seine.errors import SourceError
from seine.intake.files import Files
from seine.intake.intake_state import FileCursor, LineCursor, file_identity
from seine.intake.line_block import LINE_LIMIT, PRINT_BYTES, LineBlock, has_fingerprint

_logger = logging.getLogger(__name__)

_FIRST_READ_BYTES = 64 * 1024
_SCAN_BYTES = 1024 * 1024
_NEWLINE = 10
_BOM = b"\xef\xbb\xbf"
_MOST_OPEN_FILES = 64  # followed files that are held open, so that rotation loses nothing


@dataclass(frozen=True)
class _Opened:
    key: str
    path: str
    handle: int
    final: bool  # nobody appends any more: the last line is whole even without a newline


class LineReader:
    """Reads blocks of whole lines of a source, file by file in name order.

    A file is identified by device and inode, so a renamed file is resumed at its position. Without
    `follow`, the files are those that exist at the start. With `follow`, a replaced file is read to its end
    through its open handle and then the new one from its start; a truncated one is read again from its
    start.
    """

    def __init__(
        self,
        files: Files,
        position: Mapping[str, FileCursor],
        *,
        follow: bool,
        delimiter: str | None = None,  # of the header line; None if files have no header
        notice: Callable[[str], None],
    ) -> None:
        self.files = files
        self.follow = follow
        self.cursors = {key: cursor for key, cursor in position.items() if isinstance(cursor, LineCursor)}
        self.gone: set[str] = set()  # files that were read to their end and are replaced or removed
        self._delimiter = delimiter
        self._notice = notice
        self._line_bytes = 0.0  # an estimate, by the lines that were read last
        self._handles: OrderedDict[str, tuple[int, str]] = OrderedDict()
        self._waiting = [] if follow else files.listing()

    def read(self, lines: int, size: int, force: bool) -> LineBlock | None:
        """The next block within both limits, or None; with `force` at least one line if there is one."""
        for opened in self._candidates():
            block = self._next(opened, lines, size, force)
            if block is not None:
                self.cursors[opened.key] = block.cursor(block.count)
                return block
            if not force and self._left(opened) >= size:
                return None  # its next line may be beyond the limit; a later file must wait
        return None

    def header_of(self, path: str) -> tuple[str, ...] | None:
        """The header line of a file; None if it has none, or not yet."""
        try:
            with open(path, "rb") as file:
                first = file.readline(LINE_LIMIT)
        except OSError as error:
            raise SourceError(path, f"cannot read '{path}': {error.strerror}") from None
        whole = first.endswith(b"\n") or (first and not self.follow)
        if self._delimiter is None or not whole:
            return None
        return _header(first.removeprefix(_BOM), self._delimiter)

    def has_read(self) -> bool:
        """Whether it has, or was given, a position in any file."""
        return bool(self.cursors or self.gone)

    def exhausted(self) -> bool:
        """Whether nothing more will come; never so in follow mode."""
        if self.follow:
            return False
        while self._waiting:
            opened = self._open(self._waiting[0])
            if opened is not None and self._left(opened) > 0:
                return False
            self._forget(self._waiting.pop(0))
        return True

    def close(self) -> None:
        """Close all files."""
        for handle, _ in self._handles.values():
            os.close(handle)
        self._handles.clear()

    def _candidates(self) -> Iterator[_Opened]:
        if not self.follow:
            while not self.exhausted():
                opened = self._open(self._waiting[0])
                if opened is not None:
                    yield opened
                return
            return
        paths = self.files.listing()
        yield from self._replaced({key for path in paths if (key := self._identity(path)) is not None})
        for path in paths:
            if (opened := self._open_if_changed(path)) is not None:
                yield opened

    def _replaced(self, listed: set[str]) -> Iterator[_Opened]:
        """Open files whose path now is another file, or none: read to their end, then closed."""
        for key, (handle, path) in list(self._handles.items()):
            if key in listed:
                continue
            opened = _Opened(key, path, handle, final=True)
            if self._left(opened) > 0:
                yield opened
            else:
                os.close(self._handles.pop(key)[0])
                self.cursors.pop(key, None)
                self.gone.add(key)

    def _open(self, path: str) -> _Opened | None:
        try:
            key = file_identity(os.stat(path))
            if key not in self._handles:
                key = self._hold(path)
        except FileNotFoundError:
            if self.follow:
                return None  # it went away since it was listed
            raise SourceError(path, f"'{path}' was removed while it was being read") from None
        except OSError as error:
            raise SourceError(path, f"cannot read '{path}': {error.strerror}") from None
        self._handles.move_to_end(key)
        opened = _Opened(key, path, self._handles[key][0], final=not self.follow)
        self._restart_if_rewritten(opened)
        return opened

    def _identity(self, path: str) -> str | None:
        try:
            return file_identity(os.stat(path))
        except OSError:
            return None

    def _open_if_changed(self, path: str) -> _Opened | None:
        """A followed file, unless it has been closed and has not grown since."""
        try:
            status = os.stat(path)
        except OSError:
            return None
        key = file_identity(status)
        cursor = self.cursors.get(key)
        if cursor is not None and key not in self._handles and cursor.offset == status.st_size:
            return None
        return self._open(path)

    def _hold(self, path: str) -> str:
        """Open a file and keep its handle; the key is that of the handle, not of the path."""
        handle = os.open(path, os.O_RDONLY)
        key = file_identity(os.fstat(handle))
        if key in self._handles:
            os.close(self._handles[key][0])
        self._handles[key] = (handle, path)
        self.gone.discard(key)
        self._adopt(key, path)
        self._evict(key)
        return key

    def _evict(self, newest: str) -> None:
        for key in list(self._handles):
            if len(self._handles) > _MOST_OPEN_FILES and key != newest:
                os.close(self._handles.pop(key)[0])

    def _forget(self, path: str) -> None:
        for key, (handle, name) in list(self._handles.items()):
            if name == path:
                os.close(handle)
                del self._handles[key]

    def _adopt(self, key: str, path: str) -> None:
        """Give a new file the position of one with its path and content: a copy is not read twice."""
        if key in self.cursors:
            return
        head = self._head(self._handles[key][0])
        for other, cursor in list(self.cursors.items()):
            if other in self._handles or cursor.path != path or not cursor.offset:
                continue
            if os.stat(path).st_size >= cursor.offset and has_fingerprint(head, cursor.fingerprint):
                self.cursors[key] = self.cursors.pop(other)
                return
        self.cursors[key] = LineCursor(path)

    def _restart_if_rewritten(self, opened: _Opened) -> None:
        cursor = self.cursors[opened.key]
        if not cursor.offset:
            return
        if self._left(opened) >= 0 and has_fingerprint(self._head(opened.handle), cursor.fingerprint):
            return
        _logger.warning("file truncated or rewritten", extra={"path": opened.path})
        self._notice(f"{opened.path} was truncated or rewritten: it is read again from its start")
        self.cursors[opened.key] = LineCursor(opened.path)

    def _left(self, opened: _Opened) -> int:
        return os.fstat(opened.handle).st_size - self.cursors[opened.key].offset

    def _head(self, handle: int) -> bytes:
        return os.pread(handle, PRINT_BYTES, 0)

    def _next(self, opened: _Opened, lines: int, size: int, force: bool) -> LineBlock | None:
        cursor = self.cursors[opened.key]
        offset, line, header = cursor.offset, cursor.line, cursor.header
        head = self._head(opened.handle)
        if offset == 0 and head.startswith(_BOM):
            offset = len(_BOM)
        if self._delimiter is not None and header is None:
            first = self._lines(opened, offset, 1, LINE_LIMIT)
            if not first and self._left(opened) > LINE_LIMIT:
                message = f"the header line of '{opened.path}' is longer than {LINE_LIMIT} bytes"
                raise SourceError(opened.path, message)
            header = _header(first, self._delimiter) if first else None
            offset, line = offset + len(first), line + bool(first)
        self._pass_preamble(opened, offset, line, head, header)
        if self._delimiter is not None and header is None:
            return None
        data = self._lines(opened, offset, lines, size)
        if not data and force:
            data = self._lines(opened, offset, 1, LINE_LIMIT + 1)
        if data:
            return LineBlock(opened.key, opened.path, data, line + 1, offset, head, header)
        return self._skip_line(opened, offset, line, head, header) if force else None

    def _pass_preamble(
        self, opened: _Opened, offset: int, line: int, head: bytes, header: tuple[str, ...] | None
    ) -> None:
        """Note that a file with nothing but a byte order mark and a header has been read to its end."""
        if offset > self.cursors[opened.key].offset and os.fstat(opened.handle).st_size == offset:
            preamble = LineBlock(opened.key, opened.path, b"", line + 1, offset, head, header or None)
            self.cursors[opened.key] = preamble.cursor(0)

    def _lines(self, opened: _Opened, offset: int, lines: int, size: int) -> bytes:
        """Whole lines from an offset, within both limits, reading little more than needed."""
        want = min(max(_FIRST_READ_BYTES, int(lines * self._line_bytes)), size)
        while True:
            data = os.pread(opened.handle, want, offset)
            newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE)
            if len(data) < want or want >= size or len(newlines) >= lines:
                break
            want = min(4 * want, size)
        if len(newlines):
            self._line_bytes = 1.05 * (newlines[-1] + 1) / len(newlines)
        whole_to_end = opened.final and offset + len(data) >= os.fstat(opened.handle).st_size
        return _cut(data, newlines, lines, whole_to_end)

    def _skip_line(
        self, opened: _Opened, offset: int, line: int, head: bytes, header: tuple[str, ...] | None
    ) -> LineBlock | None:
        """A block of one line beyond LINE_LIMIT, of which only the beginning is kept."""
        at = offset
        while data := os.pread(opened.handle, _SCAN_BYTES, at):
            newline = data.find(b"\n")
            at += newline + 1 if newline >= 0 else len(data)
            if newline >= 0:
                break
        else:
            if at == offset or not opened.final:
                return None
        start = os.pread(opened.handle, 4096, offset)
        return LineBlock(opened.key, opened.path, start, line + 1, offset, head, header, skipped=at - offset)


def _cut(data: bytes, newlines: IntArray, lines: int, whole_to_end: bool) -> bytes:
    """The first `lines` whole lines, or fewer.

    >>> [_cut(b"a\\nb\\nc", np.array([1, 3]), *limits) for limits in ((9, False), (9, True), (1, True))]
    [b'a\\nb\\n', b'a\\nb\\nc', b'a\\n']
    """
    if len(newlines) >= lines:
        return data[: newlines[lines - 1] + 1]
    if whole_to_end:
        return data
    return data[: newlines[-1] + 1] if len(newlines) else b""


def _header(raw: bytes, delimiter: str) -> tuple[str, ...]:
    text = raw.decode("utf-8", "replace").rstrip("\r\n")
    return tuple(next(csv.reader([text], delimiter=delimiter), ()))
