"""Retained input: the rows of journal entries that are done, kept so that later queries can begin with them.

    history/000000000000-000000000041     rows of entries 0 to 41, a part a stream
            000000000042-000000000044     ...

A log-structured store. An entry that leaves the journal becomes a segment; neighbours are merged while they
are small, so that there are few files, and the oldest go when the limit says so.

Law: the segments and the entries still in the journal, those behind the last segment, are all input since the
oldest retained entry, each row once, whenever a crash came. A segment that lies within another is what a
merge left, and is removed; so is what comes before a gap, which was removed before a power cut.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from seine.intake.bundle import Bundle, bundle
from seine.intake.journal import Entry, Journal, rows_part
from seine.intake.retention_limit import RetentionLimit
from seine.rows.arrow_ipc import Piece, size_of
from seine.rows.clock import Clock
from seine.rows.delta import NEVER
from seine.typed_json import read_json, write_json

ENTRY_NUMBER = "_entry"  # the column of retained rows that says which entry brought them
MOST_ROWS_MERGED = 200_000  # a segment grows no further by merging
_SMALL_ROWS = 1_000  # segments below this are merged whatever their sizes are
_HISTORY = "history/"


class RetainedSegment(Struct, frozen=True):
    """The rows of the entries `first` to `last`, the clock after them, and their size as they are kept.

    `before` has, of each stream, the largest timestamp accepted before them; `wall` is the wall clock of the
    last one, in microseconds.
    """

    first: int
    last: int
    rows: dict[str, int]
    clock: Clock
    before: dict[str, int]
    wall: int
    bytes: int = 0

    @property
    def total(self) -> int:
        return sum(self.rows.values())


@dataclass(frozen=True)
class HistoryPiece:
    """Rows of consecutive entries up to `next`, by stream, and the clock after them."""

    rows: Mapping[str, pa.RecordBatch]
    next: int
    clock: Clock


class RetainedEntries:
    """The segments beside a journal; the driver adds to them, whoever registers a query reads them."""

    def __init__(
        self, journal: Journal, limit: RetentionLimit, in_use: Callable[[], bool] = lambda: False
    ) -> None:
        """While they are `in_use`, nothing is given up, whatever the limit is."""
        self._store, self._journal = journal.store, journal
        self._limit, self._in_use = limit, in_use
        self._turn = threading.Lock()
        self._segments = self._recovered()
        waiting = journal.numbers()
        if self._segments and waiting and waiting[0] > self._segments[-1].last + 1:
            self._remove(self._segments)  # there is a hole behind them: nobody retained for a while
            self._segments = []

    def absorb(self, entry: Entry) -> None:
        """Keep the rows of an entry that leaves the journal; when this returns they are durable."""
        with self._turn:
            if self._segments and entry.number <= self._segments[-1].last:
                return  # a crash came before it left the journal
            rows = {name: _numbered(entry, name) for name in entry.rows}
            before = self._segments[-1].clock.latest if self._segments else _before_first(entry)
            self._segments.append(
                self._write(
                    RetainedSegment(
                        entry.number,
                        entry.number,
                        dict(entry.rows),
                        entry.clock,
                        dict(before),
                        entry.intake.wall,
                    ),
                    rows,
                )
            )
            self._compact()
            self._trim()

    @property
    def first(self) -> int | None:
        """The oldest entry that is there; None before the first."""
        with self._turn:
            return self._oldest()[0]

    def reach_back(self, stream: str, since: int, instant: int) -> bool:
        """Whether all tuples of a stream are there that came in entry `since` or later, after an instant."""
        with self._turn:
            first, before = self._oldest()
        return first is None or since >= first or before.get(stream, NEVER) <= instant

    def figures(self) -> tuple[int, int, int, int]:
        """The oldest and the newest retained entry (-1 if there is none), their rows and bytes."""
        with self._turn:
            segments = self._segments
            if not segments:
                return -1, -1, 0, 0
            rows, size = sum(one.total for one in segments), sum(one.bytes for one in segments)
            return segments[0].first, segments[-1].last, rows, size

    def piece(self, streams: Mapping[str, int], start: int, until: int, most_rows: int) -> HistoryPiece:
        """The rows of entries from `start` on and before `until`: of one entry at least, of few more rows.

        Of each stream only those from an entry on: before it the name may have been that of another stream.
        """
        with self._turn:
            rows: dict[str, list[pa.RecordBatch]] = {name: [] for name in streams}
            count, clock = 0, Clock({})
            for next_, clock_after, batches in self._from(streams, start):
                for name, batch in batches.items():
                    numbers = batch[ENTRY_NUMBER].to_numpy()
                    first = max(start, streams[name])
                    inside = batch.filter(pa.array((numbers >= first) & (numbers < until)))
                    if inside.num_rows:
                        rows[name].append(inside)
                    count += inside.num_rows
                clock = clock_after
                if count >= most_rows or next_ >= until:
                    break
            else:
                next_ = until
        whole = {name: _concatenated(parts) for name, parts in rows.items() if parts}
        return HistoryPiece(whole, min(next_, until), clock)

    def _from(
        self, streams: Iterable[str], start: int
    ) -> Iterator[tuple[int, Clock, dict[str, pa.RecordBatch]]]:
        """Of each segment and entry from one on: what follows it, its clock, its rows."""
        for segment in self._segments:
            if segment.last >= start:
                names = [name for name in streams if segment.rows.get(name)]
                yield segment.last + 1, segment.clock, {n: self._read(segment, n) for n in names}
        done = self._segments[-1].last if self._segments else -1
        for number in self._journal.numbers():
            if number > done and number >= start:
                entry = self._journal.load(number)
                names = [name for name in streams if entry.rows.get(name)]
                yield number + 1, entry.clock, {n: _numbered(entry, n) for n in names}

    def _oldest(self) -> tuple[int | None, Mapping[str, int]]:
        """The oldest entry, and the largest timestamps before it."""
        if self._segments:
            return self._segments[0].first, self._segments[0].before
        numbers = self._journal.numbers()
        if not numbers:
            return None, {}
        return numbers[0], _before_first(self._journal.load(numbers[0]))

    # ---- objects

    def _recovered(self) -> list[RetainedSegment]:
        """The segments that are there, in order, without what a crash left."""
        segments = [
            read_json(self._bundle(name).record, RetainedSegment) for name in self._store.list(_HISTORY)
        ]
        segments.sort(key=lambda one: (one.first, -one.last))
        kept: list[RetainedSegment] = []
        for segment in segments:
            if kept and segment.last <= kept[-1].last:
                self._remove([segment])
                continue
            if kept and segment.first > kept[-1].last + 1:
                self._remove(kept)
                kept = []
            kept.append(segment)
        return kept

    def _compact(self) -> None:
        """Merge the last segments while they are of like sizes, as a log-structured merge tree does."""
        while len(self._segments) > 1:
            one, other = self._segments[-2:]
            if one.total > 2 * other.total + _SMALL_ROWS or one.total + other.total > MOST_ROWS_MERGED:
                return
            if any(
                self._schema(one, name) != self._schema(other, name)
                for name in one.rows
                if name in other.rows
            ):
                return  # a stream was declared anew
            names = dict.fromkeys([*one.rows, *other.rows])
            rows = {
                name: pa.concat_batches([self._read(s, name) for s in (one, other) if s.rows.get(name)])
                for name in names
            }
            counts = {name: batch.num_rows for name, batch in rows.items()}
            merged = RetainedSegment(one.first, other.last, counts, other.clock, one.before, other.wall)
            self._segments[-2:] = [self._write(merged, rows)]
            self._remove([one, other])

    def _trim(self) -> None:
        """Give up the oldest segments beyond the limit; the newest always stays."""
        while len(self._segments) > 1 and self._is_too_much() and not self._in_use():
            self._remove(self._segments[:1])
            del self._segments[0]

    def _is_too_much(self) -> bool:
        limit = self._limit
        if limit.bytes is not None:
            return sum(one.bytes for one in self._segments) > limit.bytes
        age = self._segments[-1].wall - self._segments[0].wall
        return limit.seconds is not None and age > limit.seconds * 1_000_000

    def _write(self, segment: RetainedSegment, rows: Mapping[str, pa.RecordBatch]) -> RetainedSegment:
        parts = {rows_part(name): compressed(batch) for name, batch in rows.items()}
        segment = replace(segment, bytes=sum(map(size_of, parts.values())))
        self._store.put(segment_name(segment), bundle(write_json(segment), parts))
        return segment

    def _read(self, segment: RetainedSegment, stream: str) -> pa.RecordBatch:
        return self._bundle(segment_name(segment)).batch(rows_part(stream))

    def _schema(self, segment: RetainedSegment, stream: str) -> pa.Schema:
        return pa.ipc.open_stream(self._bundle(segment_name(segment)).part(rows_part(stream))).schema

    def _bundle(self, name: str) -> Bundle:
        return Bundle(self._store.local(name))

    def _remove(self, segments: Sequence[RetainedSegment]) -> None:
        self._store.delete(map(segment_name, segments))


def segment_name(segment: RetainedSegment) -> str:
    """The object that a segment is."""
    return f"{_HISTORY}{segment.first:012d}-{segment.last:012d}"


def _concatenated(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Rows of a stream; those from before a column was added have NULL in it."""
    schema = parts[-1].schema
    if all(part.schema == schema for part in parts):
        return pa.concat_batches(parts)
    tables = [pa.Table.from_batches([part]) for part in parts]
    whole = pa.concat_tables(tables, promote_options="default").select(schema.names).combine_chunks()
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in whole.columns], schema=schema)


def _before_first(entry: Entry) -> Mapping[str, int]:
    """The largest timestamps before an entry of which nothing older is known: no more than those after it."""
    return {} if entry.number == 0 else entry.clock.latest


def _numbered(entry: Entry, stream: str) -> pa.RecordBatch:
    """The rows of a stream in an entry, with its number."""
    batch = entry.batch(stream)
    if batch is None:
        raise KeyError(stream)
    return batch.append_column(ENTRY_NUMBER, pa.array(np.full(batch.num_rows, entry.number)))


def compressed(batch: pa.RecordBatch) -> list[Piece]:
    """Rows as they are kept for long."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    return [sink.getvalue()]
