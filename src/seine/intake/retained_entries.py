"""Retained input: the rows of journal entries that are done, kept so that later queries can begin with them.

    retained/000000000000-000000000041/   segment.json   rows of entries 0 to 41, a file a stream
             000000000042-000000000044/   segment.json   ...

A log-structured store. An entry that leaves the journal becomes a segment; neighbours are merged while they
are small, so that there are few files, and the oldest go when the limit says so.

Law: the segments and the entries still in the journal, those behind the last segment, are all input since the
oldest retained entry, each row once, whenever a crash came. A segment is written under another name and
renamed when it is whole; one that lies within another is what a merge left, and is removed.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from msgspec import Struct

from seine.disk_sync import make_folder, sync_to_disk
from seine.intake.journal import Entry, Journal, file_name
from seine.intake.retention_limit import RetentionLimit
from seine.rows.clock import Clock
from seine.rows.delta import NEVER
from seine.typed_json import read_json, write_json

ENTRY_NUMBER = "_entry"  # the column of retained rows that says which entry brought them
MOST_ROWS_MERGED = 200_000  # a segment grows no further by merging
_SMALL_ROWS = 1_000  # segments below this are merged whatever their sizes are
_TEMPORARY = "."


class RetainedSegment(Struct, frozen=True):
    """The rows of the entries `first` to `last`, the clock after them, and their size on disk.

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
    """The segments of a folder; the driver adds to them, whoever registers a query reads them."""

    def __init__(
        self, folder: str, journal: Journal, limit: RetentionLimit, in_use: Callable[[], bool] = lambda: False
    ) -> None:
        """While they are `in_use`, nothing is given up, whatever the limit is."""
        self._folder, self._journal = folder, journal
        self._limit, self._in_use = limit, in_use
        self._turn = threading.Lock()
        make_folder(folder)
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

    # ---- files

    def _recovered(self) -> list[RetainedSegment]:
        """The segments on disk, in order, without what a crash left."""
        segments = []
        for name in os.listdir(self._folder):
            path = os.path.join(self._folder, name)
            if name.startswith(_TEMPORARY):
                shutil.rmtree(path)
                continue
            with open(os.path.join(path, "segment.json"), "rb") as file:
                segments.append(read_json(file.read(), RetainedSegment))
        segments.sort(key=lambda one: (one.first, -one.last))
        kept: list[RetainedSegment] = []
        for segment in segments:
            if kept and segment.last <= kept[-1].last:
                self._remove([segment])
            else:
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
        temporary = os.path.join(self._folder, f"{_TEMPORARY}new")
        shutil.rmtree(temporary, ignore_errors=True)
        os.mkdir(temporary)
        size = sum(_write_rows(os.path.join(temporary, _file(name)), batch) for name, batch in rows.items())
        segment = RetainedSegment(
            segment.first, segment.last, segment.rows, segment.clock, segment.before, segment.wall, size
        )
        with open(os.path.join(temporary, "segment.json"), "wb") as file:
            file.write(write_json(segment))
            file.flush()
            os.fsync(file.fileno())
        sync_to_disk(temporary)
        os.rename(temporary, self._path(segment))
        sync_to_disk(self._folder)
        return segment

    def _read(self, segment: RetainedSegment, stream: str) -> pa.RecordBatch:
        path = os.path.join(self._path(segment), _file(stream))
        with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
            return reader.get_batch(0)

    def _schema(self, segment: RetainedSegment, stream: str) -> pa.Schema:
        path = os.path.join(self._path(segment), _file(stream))
        with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
            return reader.schema

    def _remove(self, segments: Sequence[RetainedSegment]) -> None:
        for segment in segments:
            gone = os.path.join(self._folder, f"{_TEMPORARY}old")
            os.rename(self._path(segment), gone)
            sync_to_disk(self._folder)  # or half a segment might be there under its name
            shutil.rmtree(gone)

    def _path(self, segment: RetainedSegment) -> str:
        return os.path.join(self._folder, f"{segment.first:012d}-{segment.last:012d}")


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
    assert batch is not None
    return batch.append_column(ENTRY_NUMBER, pa.array(np.full(batch.num_rows, entry.number)))


def _file(stream: str) -> str:
    return f"s-{file_name(stream)}.arrow"


def _write_rows(path: str, batch: pa.RecordBatch) -> int:
    """Write rows compressed, and sync them; how many bytes that takes."""
    with open(path, "wb") as file:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_file(file, batch.schema, options=options) as writer:
            writer.write_batch(batch)
        file.flush()
        os.fsync(file.fileno())
        return file.tell()
