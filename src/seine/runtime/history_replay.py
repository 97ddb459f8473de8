"""Replays retained input to queries that begin with history, piece by piece, as rows of journal entries.

    registered ──> entry n: rows of the past  ──> n+1: more of them ──> n+2: caught up ──> new input
                   for the query's own nodes, which step by the clock of then

Law: the nodes of a query see the retained rows in the order of their entries, with clocks that were true for
them, and then all that is new; that is one way to cut their input into micro-batches, so answers are those of
a query that was there from the start and was fed with these rows alone.

New input waits meanwhile. Every piece is a journal entry, so a crash repeats and loses nothing; how far a
replay is, the last entry says.

Cites: ARGUS 3 (historical data)
Differs: the paper keeps the history of every node; here a node's state lacks what conditions kept out of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from msgspec import Struct

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.definitions import StreamDef
from seine.intake.journal import Entry, ReplayDraft
from seine.intake.retained_entries import ENTRY_NUMBER, RetainedEntries
from seine.operators.stream.resolve import QueuedArrivals, Takers, take_fronts
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, data_names
from seine.rows.grouping import group_rows
from seine.rows.hashing import hash_columns

_MOST_ROWS_OF_PIECE = 100_000  # rows of the past in one entry, about


class HistoryStart(Struct, frozen=True):
    """The history that a query begins with: entries before `until`, of each stream from one on.

    `ended` has, of each stream, the instant at which lives must not have ended; it is empty if all tuples
    count.
    """

    until: int
    streams: dict[str, int]
    ended: dict[str, int] = {}

    @property
    def first(self) -> int:
        return min(self.streams.values(), default=self.until)


@dataclass(frozen=True)
class PendingReplay:
    """A query that has not caught up: its nodes, what it begins with, and the next entry of that."""

    query: str
    receivers: tuple[int, ...]
    start: HistoryStart
    next: int


class HistoryReplays:
    """Makes the pieces; what it remembers between them can be made again."""

    def __init__(self, retained: RetainedEntries, most_rows: int | None = None) -> None:
        self._retained = retained
        self._most_rows = most_rows or _MOST_ROWS_OF_PIECE
        self._deleted: dict[tuple[str, int], IntArray] = {}  # by stream and entry: arrivals that were deleted

    def drafts(
        self,
        pending: Sequence[PendingReplay],
        streams: Mapping[str, StreamDef],
        last: Entry,
        advance: bool,
    ) -> list[ReplayDraft]:
        """What the next entry brings: rows for the first query if it may `advance`; the others stay."""
        stay = [_standing_still(one, last) for one in pending[int(advance) :]]
        return [self._advanced(pending[0], streams, last), *stay] if pending and advance else stay

    def _advanced(self, replay: PendingReplay, streams: Mapping[str, StreamDef], last: Entry) -> ReplayDraft:
        start = replay.start
        piece = self._retained.piece(start.streams, replay.next, start.until, self._most_rows)
        done = piece.next >= start.until
        counted = {name: self._counted(streams[name], rows, start) for name, rows in piece.rows.items()}
        clock = last.clock if done else _clock_of(piece.clock, start, last.clock, piece.next)
        if done:
            self._deleted.clear()
        return ReplayDraft(
            replay.query,
            replay.receivers,
            clock,
            piece.next,
            {name: rows for name, rows in counted.items() if rows.num_rows},
            done,
        )

    def _counted(self, stream: StreamDef, rows: pa.RecordBatch, start: HistoryStart) -> pa.RecordBatch:
        """The rows of a stream that count, as their entries had them."""
        if start.ended:
            rows = rows.filter(pa.array(self._alive(stream, rows, start)))
        return rows.drop_columns([ENTRY_NUMBER])

    def _alive(self, stream: StreamDef, rows: pa.RecordBatch, start: HistoryStart) -> BoolArray:
        """The tuples whose life has not ended at the instant, and negative tuples of later instants."""
        instant, times = start.ended[stream.name], _times(stream, rows)
        assert stream.window is not None
        alive: BoolArray = times > max(instant - stream.window, NEVER)
        if not stream.retractable:
            return alive
        positive = rows["_o"].to_numpy() > 0
        kept = ~np.isin(rows["_q"].to_numpy(), self._deleted_until(stream, start))
        return np.where(positive, alive & kept, times > instant)

    def _deleted_until(self, stream: StreamDef, start: HistoryStart) -> IntArray:
        """The arrival numbers of the tuples that were deleted at the instant or before it."""
        key, first = (stream.name, start.until), start.streams[stream.name]
        if key not in self._deleted:
            piece = self._retained.piece({stream.name: first}, first, start.until, FOREVER)
            rows = piece.rows.get(stream.name)
            none = np.zeros(0, np.int64)
            self._deleted[key] = (
                none if rows is None else deleted_arrivals(stream, rows, start.ended[stream.name])
            )
        return self._deleted[key]


def deleted_arrivals(stream: StreamDef, rows: pa.RecordBatch, instant: int) -> IntArray:
    """The arrival numbers of tuples that negative tuples up to an instant delete: the law of `resolve`."""
    times, numbers = _times(stream, rows), rows["_q"].to_numpy()
    positive = rows["_o"].to_numpy() > 0
    takes = ~positive & (times <= instant)
    content = [rows[name] for i, name in enumerate(data_names(len(stream.fields))) if i != stream.time]
    groups = group_rows(hash_columns(content, rows.num_rows), content)
    queue = np.empty(rows.num_rows, np.int64)
    queue[groups.order] = groups.labels()
    assert stream.window is not None
    ends = np.where(times > FOREVER - stream.window, FOREVER, times + stream.window)
    standing = QueuedArrivals(queue[positive], times[positive], ends[positive], numbers[positive])
    _, fronts = take_fronts(standing, Takers(queue[takes], times[takes], numbers[takes]))
    deleted: IntArray = numbers[positive][fronts]
    return deleted


def pending_replay(
    query: str, receivers: Iterable[int], start: HistoryStart, entry: int, last: Entry | None
) -> PendingReplay | None:
    """What is left of a replay that begins with an entry; None if it is done, or there is no past."""
    if last is None:
        return None
    if entry > last.number:
        return PendingReplay(query, tuple(receivers), start, start.first)
    next_ = last.intake.replays.get(query)
    return None if next_ is None else PendingReplay(query, tuple(receivers), start, next_)


def _standing_still(replay: PendingReplay, last: Entry) -> ReplayDraft:
    """A replay that brings nothing now: its nodes keep the clock that they had last."""
    before = [one.clock for one in last.replays if one.query == replay.query]
    clock = before[0] if before else _clock_of(Clock({}), replay.start, last.clock, replay.start.first)
    return ReplayDraft(replay.query, replay.receivers, clock, replay.next)


def _clock_of(past: Clock, start: HistoryStart, present: Clock, reached: int) -> Clock:
    """A clock of the past for the streams of a query; a stream that did not begin by then has none yet."""
    begun = {name for name, since in start.streams.items() if since < reached}
    now: dict[str, int] = {}
    for name in begun:
        domain = present.domains.get(name, "plain")
        now[domain] = max(now.get(domain, NEVER), past.latest.get(name, NEVER))
    return Clock(
        {name: past.watermarks.get(name, NEVER) if name in begun else NEVER for name in start.streams},
        now,
        {name: present.domains.get(name, "plain") for name in start.streams},
        False,
        {name: past.latest.get(name, NEVER) if name in begun else NEVER for name in start.streams},
    )


def _times(stream: StreamDef, rows: pa.RecordBatch) -> IntArray:
    times: IntArray = rows[f"c{stream.time}"].view(pa.int64()).to_numpy()
    return times
