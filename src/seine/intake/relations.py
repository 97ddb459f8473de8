"""The loader of relations: read whole, as strictly as streams; a large one is kept in files (`spool.py`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray
from seine.algebra.definitions import RelationDef, Source
from seine.intake.admission import Letter, letter
from seine.intake.formats import LineParser, Reader, open_source
from seine.intake.intake import DEFAULT_BATCH_ROWS, DEFAULT_BYTES
from seine.intake.parsed import DeadLine, Parsed
from seine.intake.record_layout import RecordLayout
from seine.intake.spool import concatenate_batches
from seine.intake.xml_columns import refuse_documents


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
