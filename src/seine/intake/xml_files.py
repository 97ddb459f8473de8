"""A resumable reader and parser of XML files: a file is a document, or a feed whose items are documents.

A file is read whole, and must not change: put it in its place by renaming. A file that is no document, or no
feed, is one dead letter. Of a followed folder a file that was changed just now and cannot be read yet is left
for later. A folder that is read to its end has one position, in the file that was read last, as files are
read in the order of their names; a followed one has a position for every file.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from msgspec import structs

from seine.documents.parse_document import LARGEST_DOCUMENT, DocumentFault, decode_document
from seine.errors import SourceError
from seine.intake.files import Files
from seine.intake.intake_state import FileCursor, ItemCursor, LostBytes, MovedFile, file_identity
from seine.intake.parsed import TUPLE, DeadLine, Parsed, parsed_tuples, shorten
from seine.intake.xml_records import DocumentColumns

_ALL_FILES = "files"  # the key of the one position in files that are read to their end
_LARGEST_FILE = 4 * LARGEST_DOCUMENT  # bytes: a character may take four in a file and one in UTF-8
_SETTLED = 2.0  # seconds after its last change a file that cannot be read is given up


@dataclass(frozen=True)
class XmlItems:
    """Documents [first, first + count) of a file, or the reason why it has none."""

    key: str
    start: ItemCursor  # of the file
    documents: Sequence[str]
    first: int
    fault: str | None = None

    @property
    def path(self) -> str:
        return self.start.path

    @property
    def count(self) -> int:
        """How many documents there are; a faulty file counts as one."""
        return len(self.documents)

    def size(self, lines: int) -> int:
        """About how many bytes the first `lines` documents take."""
        return sum(map(len, self.documents[:lines]))

    def cursor(self, lines: int) -> ItemCursor:
        """The position in the file after the first `lines` documents, to resume from."""
        return structs.replace(self.start, row=self.first - 1 + lines)

    def record(self, line: int) -> str:
        """The beginning of a document by its number in the file, as a dead letter quotes it."""
        return shorten(self.documents[line - self.first].encode("utf-8", "replace"))


class XmlReader:
    """Reads documents, file by file in name order."""

    def __init__(
        self, files: Files, position: Mapping[str, FileCursor], columns: DocumentColumns, *, follow: bool
    ) -> None:
        self.files = files
        self.columns = columns
        self.follow = follow
        self.cursors = {key: cursor for key, cursor in position.items() if isinstance(cursor, ItemCursor)}
        self.gone: set[str] = set()
        self.lost: list[LostBytes] = []  # a file is there whole or not at all
        self.moved: list[MovedFile] = []
        self._pending = deque([] if follow else self._from(files.listing()))
        self._read: XmlItems | None = None  # the file that was read last, whole

    def _from(self, paths: list[str]) -> list[str]:
        """The files that are still to be read: from the one on in which the position is."""
        cursor = self.cursors.get(_ALL_FILES)
        if cursor is None:
            return paths
        done = cursor.row >= cursor.rows
        return [path for path in paths if path > cursor.path or (path == cursor.path and not done)]

    def read(self, lines: int, size: int, force: bool) -> XmlItems | None:
        """The next documents, at most `lines` of one file; nothing if `size` is 0, unless forced."""
        if size <= 0 and not force:
            return None
        if self.follow and not self._pending:
            self._pending.extend(self.files.listing())
        items = self._next()
        if items is None:
            return None
        done = self.cursors[items.key].row
        piece = replace(items, documents=items.documents[done : done + lines], first=done + 1)
        self.cursors[items.key] = piece.cursor(piece.count)
        return piece

    def _next(self) -> XmlItems | None:
        """The next file that has documents which were not read, leaving out those before it."""
        while self._pending:
            items = self._whole(self._pending[0])
            if items is not None and self.cursors[items.key].row < items.count:
                return items
            self._pending.popleft()
            self._read = None
        return None

    def _whole(self, path: str) -> XmlItems | None:
        """All documents of a file, read once; None if it is gone, or was read already, or is not ready."""
        if self._read is not None and self._read.path == path:
            return self._read
        try:
            status = os.stat(path)
        except FileNotFoundError:
            if self.follow:
                return None
            raise SourceError(path, f"'{path}' was removed while it was being read") from None
        key = file_identity(status, changes=True) if self.follow else _ALL_FILES
        known = self.cursors.get(key)
        if self.follow and known is not None and known.row >= known.rows:
            return None
        fresh = ItemCursor(path, status.st_mtime_ns, status.st_size)
        documents, fault = self._documents(path, status.st_size)
        if fault is not None and self.follow and time.time() - status.st_mtime < _SETTLED:
            return None
        fresh = structs.replace(fresh, rows=len(documents))
        self.cursors[key] = self._resumed(fresh, known)
        self._read = XmlItems(key, fresh, documents, 1, fault)
        return self._read

    def _resumed(self, fresh: ItemCursor, known: ItemCursor | None) -> ItemCursor:
        """Where to go on in a file: where it was left, if it is the same file."""
        if known is None or known.path != fresh.path or known.row == 0:
            return fresh
        if (known.changed, known.size, known.rows) != (fresh.changed, fresh.size, fresh.rows):
            message = f"'{fresh.path}' was replaced after {known.row:,} of its {known.rows:,} items were read"
            raise SourceError(fresh.path, message, hint="put other items under another name")
        return known

    def _documents(self, path: str, size: int) -> tuple[list[str], str | None]:
        """The documents of a file; if it is faulty, its beginning and the reason."""
        if size > _LARGEST_FILE:
            return [""], f"the file has more than {_LARGEST_FILE:,} bytes"
        with open(path, "rb") as file:
            raw = file.read(_LARGEST_FILE + 1)
        try:
            return self.columns.documents(decode_document(raw)), None
        except DocumentFault as fault:
            return [shorten(raw)], str(fault)

    def unread(self) -> Mapping[str, FileCursor]:
        """None: a file is known by its name and time."""
        return {}

    def has_read(self) -> bool:
        """Whether it has, or was given, a position in any file."""
        return bool(self.cursors)

    def exhausted(self) -> bool:
        """Whether nothing more will come; never so in follow mode."""
        if self.follow:
            return False
        return self._next() is None

    def close(self) -> None:
        """Forget the file that was read last."""
        self._read = None


class XmlParser:
    """Makes typed rows of documents; a document with a value that is not of its type is a dead letter."""

    def __init__(self, columns: DocumentColumns) -> None:
        self.columns = columns

    def parse(self, items: XmlItems) -> Parsed:
        """The typed rows of some documents, and those that do not fit with reasons."""
        layout = self.columns.layout
        dead: dict[int, str] = {}
        rows = [self._texts(items, place, dead) for place in range(items.count)]
        arrays = []
        for place, field in enumerate(layout.fields):
            values, bad = self.columns.column(place, rows)
            arrays.append(values)
            for row in bad.tolist():
                dead.setdefault(row, f"column {field.name}: the text is no {field.type}")
        alive = np.ones(items.count, bool)
        alive[list(dead)] = False
        batch = pa.RecordBatch.from_arrays(arrays, schema=layout.schema).filter(pa.array(alive))
        numbers = np.arange(items.first, items.first + items.count, dtype=np.int64)[alive]
        kind = np.full(len(numbers), TUPLE, np.int8)
        parsed = parsed_tuples(layout, items.path, batch, numbers, kind, items.record)
        letters = [DeadLine(items.first + row, dead[row], items.record(items.first + row)) for row in dead]
        return replace(parsed, dead=sorted(parsed.dead + letters))

    def _texts(self, items: XmlItems, place: int, dead: dict[int, str]) -> list[str | None]:
        try:
            if items.fault is not None:
                raise DocumentFault(items.fault)
            return self.columns.texts(items.documents[place])
        except DocumentFault as fault:
            dead[place] = str(fault)
            return [None] * len(self.columns.layout.fields)
