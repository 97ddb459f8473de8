"""The ingestion loop: reads the streams side by side in event time and writes the journal, entry by entry."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from threading import Lock

import pyarrow as pa

from seine.algebra.definitions import StreamDef
from seine.errors import SeineError
from seine.intake.admission import Admitted, Letter
from seine.intake.alignment import NO_LEAD, Components, Lead, StreamReach, groups_of, horizons
from seine.intake.feed import StreamFeed
from seine.intake.guarded_source import Surroundings
from seine.intake.idle_streams import StreamProgress, floors
from seine.intake.intake_state import AdmissionState, IntakeState, StreamState
from seine.intake.journal import Draft, Entry, Journal, ReplayDraft, run_name
from seine.intake.reading_threads import ReadingThreads
from seine.intake.spark_feed import SourceBranch
from seine.intake.stream_status import HoldingLog, StreamStatus, waiting_for
from seine.rows.clock import Clock
from seine.rows.delta import NEVER

DEFAULT_BATCH_ROWS = 200_000
DEFAULT_BYTES = 32 * 1024 * 1024


class Intake:
    """Turns sources into journal entries, resuming after the last entry of an existing journal.

    Streams that queries combine are aligned (`alignment.py`), so that short files do not run ahead of those
    that they are joined with. An entry has at least one row, punctuation or dead letter, or a stream is idle
    and its watermark rises; but for the last one, which ends the input.

    Streams may be added and removed while it runs: `open` and `change`. An entry names a network version
    and an epoch. Whoever changes those, or the streams, holds the lock `turn`, so that an entry is written
    before all of a change or after all of it.
    """

    def __init__(
        self,
        streams: Sequence[StreamDef],
        journal: Journal,
        *,
        batch_rows: int | None = None,
        follow: bool = False,
        network: Callable[[], int] = lambda: 0,
        epoch: Callable[[], int] = lambda: 0,
        next_id: Callable[[], int] = lambda: 0,
        withheld: Callable[[], tuple[str, ...]] = lambda: (),
        turn: AbstractContextManager[object] | None = None,
        fresh: frozenset[str] = frozenset(),
        notice: Callable[[str], None] = lambda text: None,
        components: Callable[[], Components | None] = lambda: None,
        lead: Lead = NO_LEAD,
        wall: Callable[[], float] = time.time,
        refuse: bool = True,
        before_entry: Callable[[], None] = lambda: None,
        replays: Callable[[bool], Sequence[ReplayDraft]] = lambda advance: (),
    ) -> None:
        """`fresh` are streams to read from the start, even if the journal has a position for that name.

        `components` are the streams that advance together, at this moment; None if all of them do. `lead`
        is how far one may run ahead of the others. With `refuse` a source in which a fault can be seen now
        is an error; without, its stream waits until it is mended. `before_entry` is called when lines are
        admitted and about to become an entry, and may change the network. `replays` are what queries are to
        be given of their past, before anything new: the next rows of it if it may `advance`.
        """
        self.journal = journal
        self._epoch = epoch
        self._next_id = next_id
        self._withheld = withheld
        self._before_entry = before_entry
        self._replays = replays
        self._turn = turn if turn is not None else nullcontext()
        self._follow = follow
        self._surroundings = Surroundings(follow, notice, wall)
        self._components = components
        self._lead = lead
        self._reading = Lock()  # held while there are admitted lines that are in no entry yet
        self._holding = HoldingLog()
        self._coming: list[StreamFeed] = []
        self._leaving: set[str] = set()
        self._altering: dict[str, StreamDef] = {}
        self._rows = batch_rows or DEFAULT_BATCH_ROWS
        self._network = network
        journal.recover()
        last = journal.last()
        state = last.intake if last is not None else IntakeState()
        self._now = dict(state.now)
        self._wall = state.wall
        self._done = last is not None and last.end
        if self._done and follow:
            raise SeineError(
                "the input of this checkpoint has ended: it cannot be followed any more",
                hint="start a new checkpoint",
            )
        kept = state.streams
        self._feeds = [
            self.open(stream, refuse)
            if stream.name in fresh
            else self._feed(stream, kept.get(stream.name), refuse)
            for stream in streams
        ]
        self._threads = ReadingThreads(self._fill, patient=not follow)

    def _feed(self, stream: StreamDef, state: StreamState | None, refuse: bool) -> StreamFeed:
        if stream.reader is not None:
            raise SeineError(f"stream {stream.name} is read by Spark, which is not here")
        return StreamFeed(stream, state, self._runs(stream, state), self._surroundings, refuse=refuse)

    def _runs(self, stream: StreamDef, state: StreamState | None) -> dict[str, pa.RecordBatch]:
        """The runs of punctuations that the state of a stream names."""
        names = [name for runs in state.admission.punctuations for name in runs] if state else []
        return {name: self.journal.run(run_name(stream.name, name)) for name in names}

    def open(self, stream: StreamDef, refuse: bool = True) -> StreamFeed:
        """Open a stream that is to be added, from its beginning; refuses a source that cannot be read.

        If there was a stream of that name before, the numbering of its punctuation runs goes on: the name
        of a run is never used twice.
        """
        last = self.journal.last()
        before = last.intake.streams.get(stream.name) if last is not None else None
        if before is None:
            return self._feed(stream, None, refuse)
        again = StreamState(admission=AdmissionState(made=before.admission.made))
        return self._feed(stream, again, refuse)

    def change(self, coming: Iterable[StreamFeed], leaving: Iterable[str]) -> None:
        """Add and remove streams as of the next entry; the caller holds `turn`.

        A stream that comes may have been opened a while ago, and one of its name may have gone on since.
        """
        removed, last = set(leaving), self.journal.last()
        coming = list(coming)
        for feed in coming:
            if last is not None and (before := last.intake.streams.get(feed.stream.name)) is not None:
                feed.admission.number_runs_after(before.admission.made)
                feed.state()  # for entries that are cut while it is being read
        for feed in self._coming:
            if feed.stream.name in removed:
                feed.close()
        self._coming = [feed for feed in self._coming if feed.stream.name not in removed] + coming
        self._altering = {name: one for name, one in self._altering.items() if name not in removed}
        self._leaving |= removed

    def alter(self, streams: Iterable[StreamDef]) -> None:
        """Read streams with columns more as of the next entry, or when their sources can be asked again.

        The caller holds `turn`. What was admitted before has no such columns, whichever entry it is in.
        """
        self._altering |= {stream.name: stream for stream in streams}

    def _exchange(self) -> None:
        """Apply what `change` and `alter` requested; the caller holds `turn`."""
        for feed in self._feeds:
            if feed.stream.name in self._leaving:
                self._threads.close_feed(feed)
        self._feeds = [feed for feed in self._feeds if feed.stream.name not in self._leaving] + self._coming
        self._coming, self._leaving = [], set()
        for feed in self._feeds:
            if feed.stream.name in self._altering and self._threads.at_rest(feed):
                feed.alter(self._altering.pop(feed.stream.name))

    @property
    def paced(self) -> bool:
        """Whether every micro-batch of Spark's has an entry, which is written before it begins."""
        return False

    def branches(self) -> tuple[SourceBranch, ...]:
        """The streams that Spark is to read."""
        return ()

    def hand_over(self, depth: int) -> Entry:
        """Append an entry without rows, after which the pipeline has `depth` stages."""
        with self._reading, self._turn:
            self._exchange()
            return self._cut({}, end=False, handover=depth, replays=self._replays(False))

    def at_rest(self) -> AbstractContextManager[object]:
        """Held, there are no admitted lines that are in no entry yet; to be taken before `turn`."""
        return self._reading

    def next_entry(self) -> Entry | None:
        """Append and return the next entry; None if there is no input now, or no more at all."""
        with self._reading:
            return self._next_entry()

    def _next_entry(self) -> Entry | None:
        with self._turn:
            self._exchange()
            replays = self._replays(True)
            if replays:
                return self._cut({}, end=False, replays=replays)
        while not self._done:
            self._wall = int(self._surroundings.wall() * 1_000_000)
            self._log_holders()
            at_rest = self._threads.fill(self._feeds)
            if not any(feed.waiting for feed in at_rest):
                return self._append({}, end=False) if self._floors() else self._finish()
            admitted = self._advance(at_rest)
            if have_content(admitted):
                return self._append(admitted, end=False)
            if len(at_rest) < len(self._feeds):  # the lines at hand wait for a stream that is being read
                return None
        return None

    def _fill(self, feed: StreamFeed) -> None:
        feed.fill(self._rows, DEFAULT_BYTES * max(1, self._rows // DEFAULT_BATCH_ROWS), self._wall)

    def stream_states(self, *, lag: bool = True) -> tuple[StreamStatus, ...]:
        """The status of every stream as of the last entry; any thread may ask.

        Streams that come with the next entry are among them, at their beginning. For the `lag` the files of
        all sources are looked at, but for those that are known to take long.
        """
        leaving, coming = set(self._leaving), tuple(self._coming)  # in this order: an entry may be cut now
        last, names = self.journal.last(), {feed.stream.name for feed in coming}
        standing = [feed for feed in self._feeds if feed.stream.name not in leaving | names]
        feeds = (*standing, *coming)
        groups = self._groups(feeds)
        known = last.clock.watermarks if last is not None else {}
        watermarks = {name: watermark for name, watermark in known.items() if name not in names}
        states = last.intake.streams if last is not None else {}
        return tuple(
            feed.status(
                StreamState() if feed in coming else states.get(feed.stream.name, StreamState()),
                watermarks.get(feed.stream.name, NEVER),
                waiting_for(feed.stream.name, groups, watermarks) if feed.condition.state != "idle" else (),
                lag and not self._threads.is_slow(feed),
                self._threads.stuck_for(feed),
            )
            for feed in feeds
        )

    def close(self) -> None:
        """Stop the reading threads and close all sources."""
        self._threads.close(self._feeds)

    def _finish(self) -> Entry | None:
        if self._follow and not self._feeds:  # streams may still come
            return None
        if not all(feed.ended for feed in self._feeds):
            return None
        self._done = True
        return self._append({}, end=True)

    def _advance(self, at_rest: Sequence[StreamFeed]) -> dict[str, list[Admitted]]:
        """Admit the lines of every stream that is not being read, up to its horizon."""
        streams = [(feed.stream, self._reach(feed)) for feed in self._feeds]
        reaches = [StreamReach(stream.name, stream.domain, reach) for stream, reach in streams]
        limits = horizons(reaches, self._components(), self._lead)
        return {feed.stream.name: feed.take(limits[feed.stream.name]) for feed in at_rest}

    def _reach(self, feed: StreamFeed) -> int | None:
        """Up to where a stream lets those advance that it is joined with; one that is stuck, everywhere."""
        if self._threads.at_rest(feed):
            return feed.reach()
        return feed.admission.clock if self._threads.stuck_for(feed) is None else None

    def _append(self, admitted: dict[str, list[Admitted]], *, end: bool) -> Entry:
        self._before_entry()
        with self._turn:
            for name in self._leaving:
                admitted.pop(name, None)
            self._exchange()
            return self._cut(admitted, end=end)

    def _cut(
        self,
        admitted: Mapping[str, list[Admitted]],
        *,
        end: bool,
        handover: int = 0,
        replays: Sequence[ReplayDraft] = (),
    ) -> Entry:
        self._look_around()
        for name, floor in self._floors().items():
            self._feed_of(name).admission.floor = floor
        self._note_advances()
        for feed in self._feeds:
            if feed.latest != NEVER:
                domain = feed.stream.domain
                self._now[domain] = max(self._now.get(domain, NEVER), feed.latest)
        dead: list[Letter] = [letter for parts in admitted.values() for part in parts for letter in part.dead]
        clock, since = self._clock(end), self._since()
        content = bool(handover or replays or have_content(admitted))
        return self.journal.append(
            Draft(
                network=self._network(),
                clock=clock,
                rows=_stacked({name: [part.rows for part in parts] for name, parts in admitted.items()}),
                punctuations=_stacked(
                    {name: [part.punctuations for part in parts] for name, parts in admitted.items()}
                ),
                dead=dead,
                intake=IntakeState(
                    {feed.stream.name: self._state_of(feed) for feed in self._feeds},
                    self._now,
                    self._next_id(),
                    self._wall,
                    {replay.query: replay.next for replay in replays if not replay.done},
                ),
                since=since,
                runs={
                    run_name(feed.stream.name, name): run
                    for feed in self._feeds
                    for name, run in feed.admission.runs().items()
                },
                end=end,
                epoch=self._epoch(),
                handover=handover,
                branches=self.branches() if handover else (),
                withheld=self._withheld(),
                replays=replays,
                blank=not content and self._is_blank(clock, since),
            )
        )

    def _look_around(self) -> None:
        """Called before an entry is cut: what else may have moved clocks."""

    def _is_blank(self, clock: Clock, since: int | None) -> bool:
        """Whether an entry without lines has nothing that stages would have to hear of."""
        return False

    def _state_of(self, feed: StreamFeed) -> StreamState:
        """The state of a stream; nothing was taken of one that is being read since it was at rest."""
        return feed.state() if self._threads.at_rest(feed) else feed.last_state

    def _floors(self) -> Mapping[str, int]:
        """The watermarks that streams which are idle now are to be given."""
        if not self._follow or all(feed.stream.idle is None for feed in self._feeds):
            return {}
        groups = self._groups(self._feeds)
        return floors(
            StreamProgress(
                feed.stream.name,
                groups[feed.stream.name],
                feed.watermark,
                self._threads.at_rest(feed) and feed.note_silence(self._wall),
            )
            for feed in self._feeds
        )

    def _groups(self, feeds: Sequence[StreamFeed]) -> dict[str, tuple[str, str]]:
        """The component and time domain of each stream."""
        group_of = groups_of((feed.stream.name for feed in feeds), self._components())
        return {feed.stream.name: (group_of[feed.stream.name], feed.stream.domain) for feed in feeds}

    def _log_holders(self) -> None:
        """Say in the log who holds others back for long; those who are idle do not."""
        last, now = self.journal.last(), self._wall / 1_000_000
        if not self._follow or last is None or not self._holding.is_due(now):
            return
        advanced = {feed.stream.name: feed.advanced for feed in self._feeds if feed.condition.state != "idle"}
        self._holding.look(now, self._groups(self._feeds), last.clock.watermarks, advanced)

    def _feed_of(self, name: str) -> StreamFeed:
        return next(feed for feed in self._feeds if feed.stream.name == name)

    def _note_advances(self) -> None:
        """Note of each stream whose watermark is another than in the last entry that it moved now."""
        last = self.journal.last()
        before = last.clock.watermarks if last is not None else {}
        for feed in self._feeds:
            if feed.watermark != before.get(feed.stream.name, NEVER):
                feed.advanced = self._surroundings.wall()

    def _since(self) -> int | None:
        """The first id of the nodes that were added since the last entry; None if there are none."""
        last = self.journal.last()
        known = last.intake.next_id if last is not None else self._next_id()
        return known if known < self._next_id() else None

    def _clock(self, end: bool) -> Clock:
        return Clock(
            {feed.stream.name: feed.watermark for feed in self._feeds},
            dict(self._now),
            {feed.stream.name: feed.stream.domain for feed in self._feeds},
            end,
            {feed.stream.name: feed.latest for feed in self._feeds},
        )


def have_content(admitted: Mapping[str, list[Admitted]]) -> bool:
    """Whether any line was admitted or refused."""
    parts = (part for several in admitted.values() for part in several)
    return any(part.rows.num_rows or part.punctuations.num_rows or part.dead for part in parts)


def _stacked(parts: Mapping[str, list[pa.RecordBatch]]) -> dict[str, pa.RecordBatch]:
    """One batch for each stream that has rows."""
    result = {}
    for name, batches in parts.items():
        full = [batch for batch in batches if batch.num_rows]
        if full:
            result[name] = pa.concat_batches(full) if len(full) > 1 else full[0]
    return result
