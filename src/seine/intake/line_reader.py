"""A resumable reader of text files, block by block of whole lines, through rotation and truncation.

A file that was renamed while nobody followed it is found again. It keeps its inode when it is renamed, and
its beginning when it is copied away before it is truncated. Inodes are used again, so that its beginning
must be right in any case. A short beginning says little: by that alone a file is known only if its name says
so too (`s.log.1` of `s.log`).

A file that a program has sent to a service has its name once, so two names are two files:

    000000000017-<hash of the idempotency key, or none>-<digest of the records>-<lines>.jsonl

A copy of a folder has other inodes, and a new file in it may get one that a position of the old folder names.
"""

from __future__ import annotations

import csv
import logging
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from msgspec import structs

from seine.algebra.arrays import IntArray
from seine.errors import SourceError
from seine.intake.files import Files
from seine.intake.intake_state import FileCursor, LineCursor, LostBytes, MovedFile, file_identity
from seine.intake.line_block import LINE_LIMIT, PRINT_BYTES, LineBlock, fingerprint, has_fingerprint

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
    through its open handle, or where it was renamed to, and then the new one from its start; a truncated one
    is read again from its start, after a copy of what it was, if there is one. What cannot be read to its end
    is in `lost`.
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
        self.lost: list[LostBytes] = []  # of files that were not
        self.moved: list[MovedFile] = []
        self._delimiter = delimiter
        self._notice = notice
        self._line_bytes = 0.0  # an estimate, by the lines that were read last
        self._handles: OrderedDict[str, tuple[int, str]] = OrderedDict()
        self._searched = False
        self._waiting = [] if follow else self._all_files()

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

    def unread(self) -> Mapping[str, FileCursor]:
        """Files that are known and of which nothing was read, to be found again if they are renamed."""
        cursors = self.cursors.items() if self.follow else ()
        return {key: one for key, one in cursors if not one.offset and one.fingerprint.length}

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
        listed = {key for path in paths if (key := self._identity(path)) is not None}
        self._find_renamed(listed)
        if paths == [self.files.path]:
            self._know(self.files.path)
        yield from self._replaced(listed)
        for path in paths:
            if (opened := self._open_if_changed(path)) is not None:
                yield opened

    def _know(self, path: str) -> None:
        """Open a file though others come first: before its turn it may be replaced in its turn."""
        opened = self._open_if_changed(path)
        cursor = self.cursors[opened.key] if opened is not None else None
        if opened is None or cursor is None or cursor.offset or cursor.fingerprint.length == PRINT_BYTES:
            return
        mark = fingerprint(self._head(opened.handle))
        self.cursors[opened.key] = structs.replace(cursor, fingerprint=mark)

    def _replaced(self, listed: set[str]) -> Iterator[_Opened]:
        """Open files whose path now is another file: read to their end, then closed.

        As long as there is no other file, more may be appended, or the file may be back.
        """
        for key, (handle, path) in list(self._handles.items()):
            if key in listed:
                continue
            opened = _Opened(key, path, handle, final=bool(listed))
            if self._left(opened) > 0:
                yield opened
            elif listed:
                os.close(self._handles.pop(key)[0])
                self.cursors.pop(key, None)
                self.gone.add(key)

    def _all_files(self) -> list[str]:
        """The files of a source that is read to its end; first those that were renamed since."""
        paths = self.files.listing()
        self._find_renamed({key for path in paths if (key := self._identity(path)) is not None})
        return [path for _, path in self._handles.values() if path not in paths] + paths

    def _find_renamed(self, listed: set[str]) -> None:
        """Take up files that have a position and were renamed while nobody looked; or say what is missing.

        Where there is no file at all they may be back: they are looked for once, and not given up.
        """
        unseen = [key for key in self.cursors if key not in listed and key not in self._handles]
        if not unseen or (not listed and self._searched):
            return
        self._searched = True
        for key in unseen:
            cursor = self.cursors.pop(key)
            if self._take_up(key, cursor, listed):
                continue
            if not listed:
                self.cursors[key] = cursor
            else:
                self.gone.add(key)
                if self._is_unfinished(cursor):
                    self._lose(key, cursor)

    def _is_unfinished(self, cursor: LineCursor) -> bool:
        """Whether a file may have more than was read; one of many that was removed has not."""
        return cursor.seen > cursor.offset or cursor.path == self.files.path

    def _take_up(self, key: str, cursor: LineCursor, listed: set[str]) -> bool:
        """Give the file of a position its position under its new name; False if it cannot be found."""
        if not cursor.fingerprint.length:
            return False
        by_content = self._is_unfinished(cursor)
        renamed = find_renamed(key, cursor, self.cursors, by_content=by_content)
        if renamed is None:
            return False
        path, identity = renamed
        self.cursors[identity] = structs.replace(cursor, path=path)
        if identity != key:
            self.moved.append(MovedFile(key, identity, path))
        if identity not in listed:
            self._hold(path)
        _logger.info("renamed file found", extra={"path": cursor.path, "renamed": path})
        return True

    def _lose(self, key: str, cursor: LineCursor) -> None:
        known = max(cursor.seen - cursor.offset, 0)
        lost = LostBytes(key, cursor.path, cursor.offset, cursor.line + 1, known)
        self.lost.append(lost)
        _logger.warning("input missing", extra={"path": lost.path, "offset": lost.offset, "known": known})
        self._notice(lost.reason)

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
        return opened if self._is_continued(opened) else None

    def _identity(self, path: str) -> str | None:
        try:
            return file_identity(os.stat(path))
        except OSError:
            return None

    def _open_if_changed(self, path: str) -> _Opened | None:
        """A followed file, unless it has been closed, has its name and has not grown since."""
        try:
            status = os.stat(path)
        except OSError:
            return None
        key = file_identity(status)
        cursor = self.cursors.get(key)
        known = cursor is not None and key not in self._handles and cursor.path == path
        if known and cursor is not None and cursor.offset == status.st_size:
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
        if key in self.cursors and not is_other_push(self.cursors[key].path, path):
            return
        head = self._head(self._handles[key][0])
        for other, cursor in list(self.cursors.items()):
            if other in self._handles or cursor.path != path or not cursor.offset:
                continue
            if os.stat(path).st_size >= cursor.offset and has_fingerprint(head, cursor.fingerprint):
                self.cursors[key] = self.cursors.pop(other)
                return
        self.cursors[key] = LineCursor(path)

    def _is_continued(self, opened: _Opened) -> bool:
        """Whether to read a file now: if it was rewritten, from its start, after a copy of the old."""
        cursor = self.cursors[opened.key]
        if not cursor.offset:
            return True
        if self._left(opened) >= 0 and has_fingerprint(self._head(opened.handle), cursor.fingerprint):
            self.cursors[opened.key] = structs.replace(cursor, path=opened.path)
            return True
        self.cursors[opened.key] = LineCursor(opened.path)
        if self.follow and self._take_up(opened.key, cursor, {opened.key}):
            return False
        if cursor.seen > cursor.offset:
            self._lose(opened.key, cursor)
        _logger.warning("file truncated or rewritten", extra={"path": opened.path})
        self._notice(f"{opened.path} was truncated or rewritten: it is read again from its start")
        return True

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
            seen = os.fstat(opened.handle).st_size
            return LineBlock(opened.key, opened.path, data, line + 1, offset, head, header, seen=seen)
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


PUSHED_NAME = re.compile(r"(\d{12})-([0-9a-f]{32}|none)-([0-9a-f]{32})-(\d+)\.jsonl")


def is_other_push(path: str, other: str) -> bool:
    """Whether two paths are of two files that were sent, whatever their inodes say.

    >>> sent, later = (f"/pushed/{n:012d}-none-{'0' * 32}-1.jsonl" for n in (1, 2))
    >>> is_other_push(sent, later), is_other_push(sent, sent), is_other_push("/logs/s.log", "/logs/s.log.1")
    (True, False, False)
    """
    names = os.path.basename(path), os.path.basename(other)
    return names[0] != names[1] and all(PUSHED_NAME.fullmatch(name) for name in names)


_SEPARATORS = (".", "-", "_")


class _Candidate(NamedTuple):
    path: str
    key: str
    inode: str


def find_renamed(
    key: str, cursor: LineCursor, known: Collection[str], *, by_content: bool
) -> tuple[str, str] | None:
    """The path and the identity of the file of a position, in the folder in which it was.

    It has all that was read of it. One with the inode of the old one is it; `by_content` else one that begins
    like it, if no other does, or no other whose name begins like its name. `known` are files that have other
    positions.
    """
    candidates = [one for one in _candidates(cursor) if one.key == key or one.key not in known]
    candidates = [one for one in candidates if not is_other_push(one.path, cursor.path)]
    inode = key.rpartition(":")[2]
    same = [one for one in candidates if one.inode == inode]
    named = [one for one in candidates if by_content and _is_named_after(one.path, cursor.path)]
    alike = candidates if by_content and cursor.fingerprint.length == PRINT_BYTES else []
    for choice in (same, named, alike):
        if len(choice) == 1:
            return choice[0].path, choice[0].key
        if choice:
            return None  # which of them it is nobody knows
    return None


def _candidates(cursor: LineCursor) -> list[_Candidate]:
    """The files of a folder that begin like the one of a position, and are as long at least."""
    folder = os.path.dirname(cursor.path)
    candidates = []
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return []
    for entry in entries:
        try:
            status = entry.stat()
            if entry.is_file() and status.st_size >= cursor.offset and _begins_like(entry.path, cursor):
                candidates.append(_Candidate(entry.path, file_identity(status), str(status.st_ino)))
        except OSError:
            continue  # it cannot be read, or went away
    return candidates


def _is_named_after(path: str, old: str) -> bool:
    """Whether a file has the name of another, perhaps with something behind it.

    >>> [_is_named_after(f"/logs/{name}", "/logs/s.log") for name in ("s.log", "s.log.1", "s.log2", "t.log")]
    [True, True, False, False]
    """
    rest = os.path.basename(path).removeprefix(os.path.basename(old))
    return path == old or (rest != os.path.basename(path) and rest.startswith(_SEPARATORS))


def _begins_like(path: str, cursor: LineCursor) -> bool:
    with open(path, "rb") as file:
        return has_fingerprint(file.read(PRINT_BYTES), cursor.fingerprint)
