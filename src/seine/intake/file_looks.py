"""Looks at the files of a source: a bounded part of their records, spread evenly over them.

    files    |------ a.jsonl ------|---- b.jsonl ----|        one after the other, by name
    looks    ^     ^     ^     ^     ^     ^     ^     ^      evenly over their bytes

At each look at text whole lines are read; a source of few bytes is read whole. Of Parquet files row groups
are looked at, of XML files the first ones.

Law: what is seen depends on the names and contents of the files alone, and takes a bounded time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from seine.intake.intake_state import ParquetCursor
from seine.intake.line_block import LineBlock
from seine.intake.line_reader import LineReader

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from seine.intake.parquet import ParquetSlice
    from seine.intake.xml_files import XmlItems, XmlReader

_MOST_LOOKS = 50  # at text files
_LOOK_BYTES = 8 * 1024  # read at each of them
_WHOLE_BYTES = 256 * 1024  # a source of so many bytes is read whole
_MOST_FOOTERS = 50  # of Parquet files that are read
_MOST_GROUPS = 4  # row groups of Parquet files that are read
_LARGE_GROUP_BYTES = 64 * 1024 * 1024  # of a row group of more bytes the beginning is read
_DOCUMENT_BYTES = 1024 * 1024  # of XML files that are read
_BOM = b"\xef\xbb\xbf"
Item = TypeVar("Item")
Part: TypeAlias = "LineBlock | ParquetSlice | XmlItems"


@dataclass(frozen=True)
class Looks:
    """What was seen of a source: pieces for its parser, and which share of all records they have.

    They are `spread` over the files, or else their beginning.
    """

    pieces: Sequence[Part]
    share: float
    spread: bool = True


def look_at_lines(reader: LineReader, paths: Sequence[str]) -> Looks:
    """Lines of text files: of each file a block, with all lines of it that were seen."""
    sizes = np.array([os.path.getsize(path) for path in paths], np.int64)
    total, starts = int(sizes.sum()), np.cumsum(sizes) - sizes
    if total <= _WHOLE_BYTES and len(paths) <= _MOST_LOOKS:
        return Looks([_block(reader, path, [0], _WHOLE_BYTES) for path in paths], 1.0)
    chosen = np.linspace(0, max(total - _LOOK_BYTES, 0), _MOST_LOOKS).astype(np.int64)
    files = np.searchsorted(starts, chosen, side="right") - 1
    offsets = chosen - starts[files]
    blocks = [
        _block(reader, paths[file], offsets[files == file].tolist(), _LOOK_BYTES)
        for file in np.unique(files).tolist()
    ]
    return Looks(blocks, max(sum(len(block.data) for block in blocks), 1) / max(total, 1))


def _block(reader: LineReader, path: str, offsets: Sequence[int], size: int) -> LineBlock:
    """The whole lines that begin in the `size` bytes from each offset on; the header is none of them."""
    header = reader.header_of(path)
    parts, done = [], 0
    with open(path, "rb") as file:
        for offset in offsets:
            begin = max(offset, done)
            file.seek(max(begin - 1, 0))  # a line begins at the offset if a newline stands before it
            data = file.read(size + 1)
            lines = _whole_lines(data, inside=begin > 0, ended=len(data) <= size, header=header is not None)
            parts.append(lines)
            done = begin + len(data)
    return LineBlock(path, path, b"".join(parts), 1, 0, b"", header)


def _whole_lines(data: bytes, *, inside: bool, ended: bool, header: bool) -> bytes:
    r"""The whole lines of a part of a file: the line that it begins inside of is left out.

    >>> _whole_lines(b"a\nbc\nd", inside=True, ended=False, header=False)
    b'bc\n'
    >>> _whole_lines(b"a\nbc\nd", inside=False, ended=True, header=True)
    b'bc\nd\n'
    """
    if not inside:
        data = data.removeprefix(_BOM)
    if inside or header:
        data = data.partition(b"\n")[2]
    if not ended:
        return data[: data.rfind(b"\n") + 1]
    return data if data.endswith(b"\n") or not data else data + b"\n"


def look_at_row_groups(paths: Sequence[str], most: int) -> Looks:
    """Rows of Parquet files, of a few row groups: of each at most `most`, evenly chosen."""
    import pyarrow.parquet as pq

    from seine.intake.parquet import ParquetSlice

    opened = [(path, pq.ParquetFile(path)) for path in _evenly(paths, _MOST_FOOTERS)]
    groups = [
        (path, file, group)
        for path, file in opened
        for group in range(file.num_row_groups)
        if file.metadata.row_group(group).num_rows
    ]
    chosen = _evenly(groups, _MOST_GROUPS)
    tables = [_rows_of_group(file, group, most) for _, file, group in chosen]
    rows = sum(file.metadata.num_rows for _, file in opened) * len(paths) / max(len(opened), 1)
    pieces = [
        ParquetSlice(path, ParquetCursor(path, 0, 0), table, 1)
        for (path, _, _), table in zip(chosen, tables, strict=True)
    ]
    spread = len(chosen) > 1 or not any(_is_large(file, group) for _, file, group in chosen)
    return Looks(pieces, sum(table.num_rows for table in tables) / max(rows, 1.0), spread)


def _rows_of_group(file: pq.ParquetFile, group: int, most: int) -> pa.Table:
    if _is_large(file, group):
        batch = next(file.iter_batches(batch_size=most, row_groups=[group]))
        return pa.Table.from_batches([batch])
    table = file.read_row_group(group)
    return table.take(np.array(_evenly(range(table.num_rows), most), np.int64))


def _is_large(file: pq.ParquetFile, group: int) -> bool:
    return bool(file.metadata.row_group(group).total_byte_size > _LARGE_GROUP_BYTES)


def look_at_documents(reader: XmlReader, paths: Sequence[str], most: int) -> Looks:
    """The documents of the first XML files, as the reader of their source gives them."""
    sizes = {path: os.path.getsize(path) for path in paths}
    pieces: list[Part] = []
    bytes_read: dict[str, float] = {}
    while sum(bytes_read.values()) < _DOCUMENT_BYTES and sum(piece.count for piece in pieces) < most:
        piece = reader.read(most, _DOCUMENT_BYTES, force=True)
        if piece is None or piece.path not in sizes:
            break
        pieces.append(piece)
        position = piece.cursor(piece.count)
        bytes_read[piece.path] = sizes[piece.path] * position.row / max(position.rows, 1)
    return Looks(pieces, sum(bytes_read.values()) / max(sum(sizes.values()), 1), spread=False)


def _evenly(items: Sequence[Item], most: int) -> list[Item]:
    """At most so many of some items, the first and the last among them."""
    places = np.unique(np.linspace(0, len(items) - 1, min(most, len(items))).astype(np.int64))
    return [items[place] for place in places.tolist()] if len(items) else []
