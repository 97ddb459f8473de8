"""Rows of tables with marker columns: which of them are tuples, negative tuples or punctuations.

CSV and Parquet files have no kinds of lines, so two columns that no stream can declare mark them:

    itemid,increase,ts,@op,@punctuate
    1,2.5,7,,                              a tuple
    1,2.5,9,-,                             a negative tuple
    1,,9,,itemid                           a punctuation: no later row has itemid = 1

`@punctuate` names the columns of a declared scheme, with commas between them. Of a punctuation only these
columns and the timestamp may have values. Either column may be left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.intake.parsed import (
    NEGATIVE,
    TUPLE,
    DeadLine,
    Parsed,
    ParsedLines,
    Record,
    event_times,
    null_places,
    parsed_tuples,
    refuse_times,
)
from seine.intake.record_layout import RecordLayout

OP, PUNCTUATE = "@op", "@punctuate"
MARKERS = (OP, PUNCTUATE)
NOT_AN_OPERATION = '@op is not "-"'
_OTHER_COLUMNS = "a punctuation has only the columns of its scheme and the timestamp"
_NO_SCHEME = "@punctuate does not name the columns of a declared scheme"


def read_operations(texts: pa.Array, op: AnyArray) -> BoolArray:
    """Note the negative tuples in `op`; a mask of the fields that are neither empty nor `-`."""
    minus: BoolArray = pc.fill_null(pc.equal(texts, "-"), False).to_numpy(zero_copy_only=False)
    op[minus] = NEGATIVE
    given: BoolArray = texts.is_valid().to_numpy(zero_copy_only=False)
    return given & ~minus


def separate_marked(
    layout: RecordLayout,
    file: str,
    rows: pa.RecordBatch,
    numbers: IntArray,
    op: AnyArray,
    marks: pa.Array | None,
    record: Record,
) -> Parsed:
    """Tuples and punctuations of typed rows; `marks` is the column `@punctuate`, NULL for a tuple."""
    marked = np.zeros(len(numbers), bool) if marks is None else ~null_places(marks)
    if marks is None or not marked.any():
        return parsed_tuples(layout, file, rows, numbers, op, record)
    at, others = np.flatnonzero(marked), np.flatnonzero(~marked)
    punctuating = rows.take(pa.array(at))
    schemes = _schemes_of(layout, marks.take(pa.array(at)))
    more = _with_more(layout, punctuating, schemes) | (op[at] != TUPLE)
    bad = (schemes < 0) | more
    dead = [
        DeadLine(number, _NO_SCHEME if scheme < 0 else _OTHER_COLUMNS, record(number))
        for number, scheme in zip(numbers[at[bad]].tolist(), schemes[bad].tolist(), strict=True)
    ]
    good = np.flatnonzero(~bad)
    punctuating = punctuating.take(pa.array(good))
    lines, timeless = _punctuations(layout, punctuating, schemes[good], numbers[at[good]], record)
    parsed = parsed_tuples(layout, file, rows.take(pa.array(others)), numbers[others], op[others], record)
    return replace(parsed, punctuations=lines, dead=sorted([*parsed.dead, *dead, *timeless]))


def _schemes_of(layout: RecordLayout, marks: pa.Array) -> IntArray:
    """The scheme that each mark names; -1 for none."""
    encoded = marks.dictionary_encode()
    numbers = [_scheme(layout, text) for text in encoded.dictionary.to_pylist()]
    schemes: IntArray = np.array(numbers, np.int16)[encoded.indices.to_numpy()]
    return schemes


def _scheme(layout: RecordLayout, text: str) -> int:
    """
    >>> from seine.algebra.definitions import Scheme
    >>> from seine.algebra.types import BIGINT, Field
    >>> layout = RecordLayout((Field("a", BIGINT), Field("b", BIGINT)), 1, (Scheme((0, 1)),))
    >>> _scheme(layout, "b, A"), _scheme(layout, "a"), _scheme(layout, "a, a, b")
    (0, -1, -1)
    """
    columns = [layout.column(name.strip()) for name in text.split(",")]
    known = frozenset(column for column in columns if column is not None)
    scheme = layout.scheme(known) if len(known) == len(columns) else None
    return -1 if scheme is None else scheme


def _with_more(layout: RecordLayout, rows: pa.RecordBatch, schemes: IntArray) -> BoolArray:
    """A mask of the rows with a value in a column that is neither of their scheme nor the timestamp."""
    more = np.zeros(rows.num_rows, bool)
    for index in range(len(layout.fields)):
        naming = [n for n, scheme in enumerate(layout.schemes) if index in scheme.columns]
        if index != layout.time:
            more |= ~null_places(rows.column(index)) & ~np.isin(schemes, naming)
    return more


def _punctuations(
    layout: RecordLayout, rows: pa.RecordBatch, schemes: IntArray, numbers: IntArray, record: Record
) -> tuple[ParsedLines, list[DeadLine]]:
    assert layout.time is not None  # only streams have schemes
    times = rows.column(layout.time)
    bound = rows.select(layout.punctuated_schema.names)
    if layout.time in layout.punctuated:
        place = layout.punctuated.index(layout.time)
        naming = [n for n, scheme in enumerate(layout.schemes) if layout.time in scheme.columns]
        values = pc.if_else(pa.array(np.isin(schemes, naming)), times, pa.scalar(None, times.type))
        bound = bound.set_column(place, layout.punctuated_schema.field(place), values)
    lines = ParsedLines(bound, schemes, event_times(times), numbers)
    return refuse_times(lines, null_places(times), record)
