"""What a parser makes of some consecutive lines of one file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.intake.layout import Layout
from seine.operators.delta import FOREVER, NEVER

TUPLE, NEGATIVE, PUNCTUATION = 1, -1, 0
RECORD_LIMIT = 1_000  # characters of a raw record that a dead letter repeats


class DeadLine(NamedTuple):
    """A line that is refused, and why."""

    line: int
    reason: str
    record: str


@dataclass(frozen=True)
class Parsed:
    """Well-formed lines in columns, and the dead ones; `lines` ascends.

    A punctuation is a row whose bound attributes are filled, all others NULL; its own timestamp is
    in `time` like that of every row, so a scheme may bind the timestamp column as well.
    """

    file: str
    rows: pa.RecordBatch  # c0, c1, ..
    op: np.ndarray  # int8: TUPLE, NEGATIVE or PUNCTUATION
    time: np.ndarray  # int64: event time; zeros for a relation
    scheme: np.ndarray  # int16: the scheme of a punctuation, else -1
    lines: np.ndarray  # int64: line numbers from 1
    dead: list[DeadLine]
    record: Callable[[int], str]  # the raw text of a line, shortened

    def take(self, chosen: np.ndarray) -> Parsed:
        """The rows of a boolean mask or of positions; the dead lines stay."""
        positions = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        return replace(
            self,
            rows=self.rows.take(pa.array(positions)),
            op=self.op[positions],
            time=self.time[positions],
            scheme=self.scheme[positions],
            lines=self.lines[positions],
        )

    def split(self, line: int) -> tuple[Parsed, Parsed]:
        """The lines before `line`, and those from it on."""
        cut = int(np.searchsorted(self.lines, line))
        return (
            self._range(0, cut, [d for d in self.dead if d.line < line]),
            self._range(cut, len(self.lines), [d for d in self.dead if d.line >= line]),
        )

    def _range(self, start: int, stop: int, dead: list[DeadLine]) -> Parsed:
        part = slice(start, stop)
        return Parsed(
            self.file,
            self.rows.slice(start, stop - start),
            self.op[part],
            self.time[part],
            self.scheme[part],
            self.lines[part],
            dead,
            self.record,
        )


def shorten(raw: bytes) -> str:
    """The first characters of a raw line; bytes that are no UTF-8 show as replacement characters."""
    return raw[: 4 * RECORD_LIMIT].decode("utf-8", "replace")[:RECORD_LIMIT]


def tuples_only(
    layout: Layout,
    file: str,
    rows: pa.RecordBatch,
    lines: np.ndarray,
    op: np.ndarray,
    record: Callable[[int], str],
) -> Parsed:
    """Tuples and negatives whose event time is their timestamp column; a row without one is dead."""
    count = rows.num_rows
    none = np.full(count, -1, np.int16)
    parsed = Parsed(file, rows, op, np.zeros(count, np.int64), none, lines, [], record)
    if layout.time is None:
        return parsed
    column = rows.column(layout.time)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return refuse_times(replace(parsed, time=event_times(column)), missing)


def event_times(column: pa.Array) -> np.ndarray:
    """Timestamps as int64: plain units, or microseconds of UTC; 0 where NULL."""
    plain = column.cast(pa.int64())
    return np.asarray(pc.fill_null(plain, 0).to_numpy(zero_copy_only=False), dtype=np.int64)


def refuse_times(parsed: Parsed, missing: np.ndarray) -> Parsed:
    """Kill rows without a timestamp, or with one that is reserved for the ends of time."""
    reserved = (parsed.time == FOREVER) | (parsed.time == NEVER)
    bad = missing | reserved
    if not bad.any():
        return parsed
    dead = [
        DeadLine(
            line := int(parsed.lines[i]),
            "the timestamp is NULL" if missing[i] else "the timestamp is out of range",
            parsed.record(line),
        )
        for i in np.flatnonzero(bad)
    ]
    return replace(parsed.take(~bad), dead=sorted(parsed.dead + dead))


def join_parsed(parts: list[Parsed]) -> Parsed:
    """Rows of one run of lines, in line order again."""
    rows = pa.Table.from_batches([part.rows for part in parts]).combine_chunks()
    batches = rows.to_batches()
    batch = batches[0] if batches else parts[0].rows
    lines = np.concatenate([part.lines for part in parts])
    joined = Parsed(
        parts[0].file,
        batch,
        np.concatenate([part.op for part in parts]),
        np.concatenate([part.time for part in parts]),
        np.concatenate([part.scheme for part in parts]),
        lines,
        sorted(dead for part in parts for dead in part.dead),
        parts[0].record,
    )
    return joined.take(np.argsort(lines, kind="stable")) if len(parts) > 1 else joined
