"""The factory of readers and parsers, by the FORMAT of a source, and the interfaces that these share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from seine.algebra.definitions import Source
from seine.errors import SeineError
from seine.intake.files import Files
from seine.intake.intake_state import FileCursor, LostBytes, MovedFile
from seine.intake.line_reader import LineReader
from seine.intake.parsed import Parsed
from seine.intake.record_layout import RecordLayout

_MOST_FILES_LOOKED_AT = 100


class Piece(Protocol):
    """Consecutive lines (or rows) of one file: the unit that a reader returns and a parser takes."""

    key: str
    path: str
    first: int

    @property
    def count(self) -> int:
        """How many lines there are."""
        ...

    def size(self, lines: int) -> int:
        """How many bytes the first `lines` lines take."""
        ...

    def cursor(self, lines: int) -> FileCursor:
        """The position in the file after the first `lines` lines."""
        ...


class Reader(Protocol):
    """Reads a source piece by piece, in order; `gone` are the keys of files that need no position.

    `lost` is what it found to be missing, `moved` are positions that belong to other files than was thought;
    whoever writes that down clears it.
    """

    gone: set[str]
    lost: list[LostBytes]
    moved: list[MovedFile]

    def read(self, lines: int, size: int, force: bool) -> Any:
        """The next piece within both limits, or None; with `force` at least one line if there is one."""
        ...

    def unread(self) -> Mapping[str, FileCursor]:
        """Files that are known and of which nothing was read, to be found again if they are renamed."""
        ...

    def has_read(self) -> bool:
        """Whether it has, or was given, a position in any file."""
        ...

    def exhausted(self) -> bool:
        """Whether nothing more will come."""
        ...

    def close(self) -> None:
        """Close all files."""
        ...


class LineParser(Protocol):
    """Turns a piece into typed rows, punctuations and dead letters."""

    def parse(self, block: Any) -> Parsed:
        """The parsed lines of a piece."""
        ...


def open_source(
    what: str,
    source: Source | None,
    layout: RecordLayout,
    position: Mapping[str, FileCursor],
    *,
    follow: bool,
    notice: Callable[[str], None],
    look: bool = False,
) -> tuple[Reader, LineParser]:
    """A reader that starts at a position, and its parser; an error if the source cannot be read.

    With `look` the beginnings of its files are looked at too, the first ones if there are very many. What
    reads a format is imported with the first source that has it.
    """
    if source is None:
        raise SeineError(f"{what} has no source", hint="give it a FROM clause")
    options, files = dict(source.options), Files.of(source)
    if source.format not in ("JSON", "CSV", "PARQUET", "XML"):
        raise SeineError(f"unknown FORMAT {source.format} of {what}")
    files.check(what, follow=follow)
    beginnings = files.listing()[:_MOST_FILES_LOOKED_AT] if look else []
    if source.format == "PARQUET":
        from seine.intake.parquet import ParquetParser, ParquetReader

        rows = ParquetReader(files, position, layout, follow=follow)
        for path in beginnings:
            rows.check(path)
        return rows, ParquetParser(layout)
    if source.format == "XML":
        from seine.intake.xml_files import XmlParser, XmlReader
        from seine.intake.xml_records import DocumentColumns

        columns = DocumentColumns(layout, source)
        return XmlReader(files, position, columns, follow=follow), XmlParser(columns)
    if source.format == "JSON":
        from seine.intake.jsonl import JsonLines

        return LineReader(files, position, follow=follow, notice=notice), JsonLines(layout)
    from seine.intake.csv import CsvLines

    delimiter = delimiter_of(options, what)
    header = delimiter if _has_header(options, what) else None
    reader = LineReader(files, position, follow=follow, delimiter=header, notice=notice)
    parser = CsvLines(layout, delimiter)
    for path in beginnings:
        parser.positions(path, reader.header_of(path))
    return reader, parser


def delimiter_of(options: Mapping[str, str], what: str) -> str:
    """The character between the fields of a CSV record."""
    delimiter = options.get("delimiter", ",").replace("\\t", "\t")
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise SeineError(f"option delimiter of {what} must be one ASCII character")
    return delimiter


def _has_header(options: Mapping[str, str], what: str) -> bool:
    header = options.get("header", "true").lower()
    if header not in ("true", "false"):
        raise SeineError(f"option header of {what} must be 'true' or 'false'")
    return header == "true"
