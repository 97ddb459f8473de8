"""The output of a parser for lines of one file: tuples and punctuations in columns, and dead letters.

A document in an XML column that the one parser of documents refuses makes a dead letter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.types import Kind
from seine.documents.parse_document import fault_of
from seine.intake.record_layout import RecordLayout, empty_batch
from seine.rows.delta import FOREVER, NEVER

TUPLE, NEGATIVE = 1, -1
RECORD_LIMIT = 1_000  # characters of a raw record that a dead letter repeats
Record = Callable[[int], str]  # the raw text of a line by its number, shortened


class DeadLine(NamedTuple):
    """A malformed or rejected line, its reason, and its text for the dead-letter file."""

    line: int
    reason: str
    record: str


@dataclass(frozen=True)
class ParsedLines:
    """Well-formed lines of one kind, tuples or punctuations, in columns; `numbers` ascends.

    A punctuation has the columns that any scheme of its stream binds; those that its own scheme does not
    bind are NULL. Its timestamp is in `time` like that of a tuple, so a scheme may bind the timestamp
    column as well.
    """

    rows: pa.RecordBatch  # c0, c1, ..
    kind: AnyArray  # int8: TUPLE or NEGATIVE; or int16: the scheme of a punctuation
    time: IntArray  # int64: event time; zeros for a relation
    numbers: IntArray  # int64: line numbers from 1

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, chosen: BoolArray | IntArray) -> ParsedLines:
        """The lines of a boolean mask or of positions."""
        at = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        return ParsedLines(self.rows.take(pa.array(at)), self.kind[at], self.time[at], self.numbers[at])

    def split(self, line: int) -> tuple[ParsedLines, ParsedLines]:
        """The lines before `line`, and those from it on."""
        cut = int(np.searchsorted(self.numbers, line))
        return self._range(0, cut), self._range(cut, len(self))

    def _range(self, start: int, stop: int) -> ParsedLines:
        part = slice(start, stop)
        rows = self.rows.slice(start, stop - start)
        return ParsedLines(rows, self.kind[part], self.time[part], self.numbers[part])

    def latest(self) -> int:
        """The largest event time; NEVER if there is no line."""
        return int(self.time.max()) if len(self) else NEVER

    def beyond(self, horizon: int) -> int | None:
        """The number of the first line with an event time beyond the horizon, or None."""
        later = self.time > horizon
        first = int(later.argmax()) if len(later) else 0
        return int(self.numbers[first]) if len(later) and later[first] else None


@dataclass(frozen=True)
class Parsed:
    """The well-formed lines by kind, and the dead letters; line numbers give the order among all of them."""

    file: str
    tuples: ParsedLines
    punctuations: ParsedLines
    dead: list[DeadLine]
    record: Record

    def latest(self) -> int:
        """The largest event time; NEVER if there is none."""
        return max(self.tuples.latest(), self.punctuations.latest())

    def beyond(self, horizon: int) -> int | None:
        """The number of the first line with an event time beyond the horizon, or None."""
        later = [lines.beyond(horizon) for lines in (self.tuples, self.punctuations)]
        return min((number for number in later if number is not None), default=None)

    def split(self, line: int) -> tuple[Parsed, Parsed]:
        """The lines before `line`, and those from it on."""
        tuples, punctuations = self.tuples.split(line), self.punctuations.split(line)
        dead = [d for d in self.dead if d.line < line], [d for d in self.dead if d.line >= line]
        front, back = (Parsed(self.file, tuples[i], punctuations[i], dead[i], self.record) for i in range(2))
        return front, back


def shorten(raw: bytes) -> str:
    """The first characters of a raw line; bytes that are no UTF-8 show as replacement characters."""
    return raw[: 4 * RECORD_LIMIT].decode("utf-8", "replace")[:RECORD_LIMIT]


def parsed_tuples(
    layout: RecordLayout,
    file: str,
    rows: pa.RecordBatch,
    numbers: IntArray,
    kind: AnyArray,
    record: Record,
) -> Parsed:
    """Parsed tuples, with event times from the timestamp column; a row without one is a dead letter."""
    none = no_lines(layout.punctuated_schema, np.int16)
    if layout.time is None:
        lines = ParsedLines(rows, kind, np.zeros(len(numbers), np.int64), numbers)
        return Parsed(file, lines, none, [], record)
    column = rows.column(layout.time)
    lines = ParsedLines(rows, kind, event_times(column), numbers)
    lines, dead = refuse_times(lines, null_places(column), record)
    return Parsed(file, lines, none, dead, record)


def no_lines(schema: pa.Schema, kind: type[np.signedinteger[Any]]) -> ParsedLines:
    """No lines, with the columns of a schema."""
    none = np.zeros(0, np.int64)
    return ParsedLines(empty_batch(schema), none.astype(kind), none, none)


def event_times(column: pa.Array) -> IntArray:
    """Timestamps as int64: plain units, or microseconds of UTC; 0 where NULL."""
    plain = column.cast(pa.int64())
    return np.asarray(pc.fill_null(plain, 0).to_numpy(zero_copy_only=False), dtype=np.int64)


def null_places(column: pa.Array) -> BoolArray:
    """A mask of the rows in which a column is NULL."""
    if not column.null_count:
        return np.zeros(len(column), bool)
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))


def refuse_times(
    lines: ParsedLines, missing: BoolArray, record: Record
) -> tuple[ParsedLines, list[DeadLine]]:
    """Make dead letters of lines whose timestamp is missing, or reserved for the ends of time."""
    bad = missing | (lines.time == FOREVER) | (lines.time == NEVER)
    if not bad.any():
        return lines, []
    dead = [
        DeadLine(
            number := int(lines.numbers[i]),
            "the timestamp is NULL" if missing[i] else "the timestamp is out of range",
            record(number),
        )
        for i in np.flatnonzero(bad)
    ]
    return lines.take(~bad), dead


def join_parsed(parts: Sequence[Parsed]) -> Parsed:
    """One result for lines of which parts were parsed separately."""
    return replace(
        parts[0],
        tuples=_join_lines([part.tuples for part in parts]),
        punctuations=_join_lines([part.punctuations for part in parts]),
        dead=sorted(dead for part in parts for dead in part.dead),
    )


def _join_lines(parts: list[ParsedLines]) -> ParsedLines:
    """Concatenate lines and sort them by number; a single part is returned as it is."""
    full = [part for part in parts if len(part)]
    if len(full) < 2:
        return full[0] if full else parts[0]
    joined = ParsedLines(
        pa.concat_batches([part.rows for part in full]),
        np.concatenate([part.kind for part in full]),
        np.concatenate([part.time for part in full]),
        np.concatenate([part.numbers for part in full]),
    )
    if (joined.numbers[1:] > joined.numbers[:-1]).all():
        return joined
    return joined.take(np.argsort(joined.numbers, kind="stable"))


def refuse_documents(layout: RecordLayout, parsed: Parsed) -> Parsed:
    """The parsed lines, with dead letters for those that have a document which is not accepted."""
    named = {f"c{i}": field.name for i, field in enumerate(layout.fields) if field.type.kind is Kind.XML}
    if not named:
        return parsed
    tuples, refused_tuples = _refuse(named, parsed.tuples, parsed.record)
    punctuations, refused_punctuations = _refuse(named, parsed.punctuations, parsed.record)
    dead = sorted(parsed.dead + refused_tuples + refused_punctuations)
    return replace(parsed, tuples=tuples, punctuations=punctuations, dead=dead)


def _refuse(
    named: Mapping[str, str], lines: ParsedLines, record: Record
) -> tuple[ParsedLines, list[DeadLine]]:
    """Separate the lines with a rejected document; `named` has the declared names of the XML columns."""
    reasons: dict[int, str] = {}
    for column in [name for name in lines.rows.schema.names if name in named]:
        for row, text in enumerate(lines.rows[column].to_pylist()):
            reason = fault_of(text) if text is not None and row not in reasons else None
            if reason is not None:
                reasons[row] = f"column {named[column]}: {reason}"
    if not reasons:
        return lines, []
    numbers = {row: int(lines.numbers[row]) for row in reasons}
    dead = [DeadLine(numbers[row], reason, record(numbers[row])) for row, reason in reasons.items()]
    alive = np.ones(len(lines), bool)
    alive[list(reasons)] = False
    return lines.take(alive), dead
