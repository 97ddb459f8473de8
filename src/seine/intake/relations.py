"""The loader of relations: read whole, as strictly as streams.

Record batches become one, which is spilled to memory-mapped files when it is large.

Each buffer of each column is one file: batches are appended to it, and the whole is mapped. The files are
anonymous and vanish with the batch. Bitmaps are appended as bytes, so batches are cut to multiples of eight
rows.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray
from seine.algebra.definitions import RelationDef, Source
from seine.errors import SeineError
from seine.intake.admission import Letter, letter
from seine.intake.formats import LineParser, Reader, open_source
from seine.intake.intake import DEFAULT_BATCH_ROWS, DEFAULT_BYTES
from seine.intake.parsed import DeadLine, Parsed, refuse_documents
from seine.intake.record_layout import RecordLayout, empty_batch
from seine.rows.column_arrays import buffer_of


def is_table(source: Source | None) -> bool:
    """Whether a source is a table of a database."""
    return source is not None and source.is_database


def check_relation(relation: RelationDef) -> None:
    """Raise an error if the source of a relation cannot be read."""
    if is_table(relation.source):
        next(_read_table(relation, RecordLayout.of(relation)), None)
        return
    _open(relation, RecordLayout.of(relation))[0].close()


def load_relation(relation: RelationDef) -> tuple[pa.RecordBatch, list[Letter]]:
    """All tuples of a relation as c0, c1, .., and its dead letters.

    A tuple whose VALID interval ends before it begins is a dead letter.
    """
    dead: list[Letter] = []
    batches = _batches(relation, RecordLayout.of(relation), dead)
    return concatenate_batches(f"relation {relation.name}", RecordLayout.of(relation).schema, batches), dead


def _batches(relation: RelationDef, layout: RecordLayout, dead: list[Letter]) -> Iterator[pa.RecordBatch]:
    """The tuples batch by batch; dead letters are appended to `dead`."""
    read = _read_table if is_table(relation.source) else _read_files
    for parsed in read(relation, layout):
        valid = _forward(parsed, relation.valid)
        dead.extend(_letters(relation.name, parsed, ~valid))
        yield parsed.tuples.rows.filter(pa.array(valid))


def _read_table(relation: RelationDef, layout: RecordLayout) -> Iterator[Parsed]:
    from seine.intake.database_tables import read_table  # imports SQLAlchemy, which most runs never need

    return read_table(relation, layout)


def _read_files(relation: RelationDef, layout: RecordLayout) -> Iterator[Parsed]:
    reader, parser = _open(relation, layout)
    try:
        while (piece := reader.read(DEFAULT_BATCH_ROWS, DEFAULT_BYTES, force=True)) is not None:
            yield refuse_documents(layout, parser.parse(piece))
    finally:
        reader.close()


def _open(relation: RelationDef, layout: RecordLayout) -> tuple[Reader, LineParser]:
    return open_source(
        f"relation {relation.name}", relation.source, layout, {}, follow=False, notice=lambda text: None
    )


def _forward(parsed: Parsed, valid: tuple[int, int] | None) -> BoolArray:
    if valid is None:
        return np.ones(len(parsed.tuples), bool)
    rows = parsed.tuples.rows
    backward = pc.less(rows.column(valid[1]), rows.column(valid[0]))
    reversed_: BoolArray = pc.fill_null(backward, False).to_numpy(zero_copy_only=False)
    return ~reversed_


def _letters(name: str, parsed: Parsed, backward: BoolArray) -> list[Letter]:
    reason = "the VALID interval ends before it begins"
    lines = parsed.tuples.numbers[backward].tolist()
    dead = sorted([*parsed.dead, *[DeadLine(line, reason, parsed.record(line)) for line in lines]])
    return [letter(name, parsed.file, *line) for line in dead]


MOST_BYTES_IN_MEMORY = 16 * 1024 * 1024  # what is larger goes to files
MOST_ROWS_OR_BYTES = 2**31 - 1  # of a column: Arrow counts them with 32 bits


def concatenate_batches(what: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch:
    """All rows of the batches as one batch; `what` names their origin in the message if they are too many."""
    held, size = [empty_batch(schema)], 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size > MOST_BYTES_IN_MEMORY:
            return _spooled(what, schema, chain(held, batches))
    return pa.concat_batches(held)


def _spooled(what: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    columns = [_Column(f"column {i + 1} of {what}", field.type) for i, field in enumerate(schema)]
    rows = 0
    for batch in _by_eight(schema, batches):
        rows += batch.num_rows
        if rows > MOST_ROWS_OR_BYTES:
            raise SeineError(f"{what} has more than {MOST_ROWS_OR_BYTES} tuples")
        for column, array in zip(columns, batch.columns, strict=True):
            column.append(array)
    return pa.RecordBatch.from_arrays([column.whole(rows) for column in columns], schema=schema)


def _by_eight(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in batches whose lengths are multiples of eight, except the last."""
    rest = empty_batch(schema)
    for batch in batches:
        both = pa.concat_batches([rest, batch])
        cut = both.num_rows // 8 * 8
        yield both[:cut]
        rest = pa.concat_batches([both[cut:]])  # a copy: a slice would keep them all
    yield rest


class _Column:
    """One column that is appended to files: validity bitmap, values, and offsets of text."""

    def __init__(self, what: str, type_: pa.DataType) -> None:
        self._what, self._type = what, type_
        self._valid, self._values, self._offsets = (_new_file() for _ in range(3))
        self._nulls = self._bytes = 0

    def append(self, array: pa.Array) -> None:
        """Append the values of a batch."""
        self._nulls += array.null_count
        self._valid.write(_bits(array.is_valid()))
        if pa.types.is_string(self._type):
            self._append_text(array)
        elif pa.types.is_boolean(self._type):
            self._values.write(_bits(array.fill_null(False)))
        else:
            width = self._type.byte_width
            start = array.offset * width
            self._values.write(buffer_of(array, 1)[start : start + len(array) * width])

    def _append_text(self, array: pa.Array) -> None:
        if not len(array):
            return
        ends = np.frombuffer(buffer_of(array, 1), np.int32)[array.offset : array.offset + len(array) + 1]
        first, last = int(ends[0]), int(ends[-1])
        if self._bytes + last - first > MOST_ROWS_OR_BYTES:
            raise SeineError(f"{self._what} has more than {MOST_ROWS_OR_BYTES} bytes of text")
        self._offsets.write((ends[:-1] - np.int32(first) + np.int32(self._bytes)).data)
        if last > first:
            self._values.write(buffer_of(array, 2)[first:last])
        self._bytes += last - first

    def whole(self, rows: int) -> pa.Array:
        """All values that were appended, as one array over the mapped files."""
        valid = _mapped(self._valid) if self._nulls else None
        if not pa.types.is_string(self._type):
            return pa.Array.from_buffers(self._type, rows, [valid, _mapped(self._values)], self._nulls)
        self._offsets.write(np.array([self._bytes], np.int32).data)
        buffers = [valid, _mapped(self._offsets), _mapped(self._values)]
        return pa.Array.from_buffers(self._type, rows, buffers, self._nulls)


def _new_file() -> IO[bytes]:
    return tempfile.TemporaryFile()


def _bits(flags: pa.Array) -> memoryview:
    return np.packbits(flags.to_numpy(zero_copy_only=False), bitorder="little").data


def _mapped(file: IO[bytes]) -> pa.Buffer:
    """The contents of a file as a mapped buffer; the file is closed and lives as long as the mapping."""
    file.flush()
    size = file.tell()
    buffer = pa.py_buffer(mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) if size else b"")
    file.close()
    return buffer
