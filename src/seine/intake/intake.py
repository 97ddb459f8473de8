"""The ingestion loop: reads the streams side by side in event time and writes the journal, entry by entry.

Where Spark reads streams too, it cuts the micro-batches when it likes. So that each has an entry, the next
one is always there: it is written when the one before is done, with what the tasks reported. If there is
nothing to say in it, it is *blank*: the journal's source keeps quiet about it, and it is used when Spark
finds rows.

    batch 7 done -> entry 8: blank          rows come                -> batch 8 with entry 8
    batch 8 done -> entry 9: rows of a file the journal offers it    -> batch 9 with entry 9
    batch 9 done -> entry 10: blank         a file grows: it is offered, empty, and entry 11 has the lines

In a service such streams come and go, and the pipeline changes its shape with them: an entry that hands over
names the stages and branches of the pipeline that goes on.

Law: the entry of a micro-batch says all that a replay has to know: network version, clocks, punctuations. And
what is registered is true first: whatever shape the pipeline has, an entry that hands over follows until it
has the branches of the streams that are there; so a crash in between changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from threading import Condition, Lock

import pyarrow as pa

from seine.algebra.definitions import StreamDef
from seine.errors import RunError, SeineError
from seine.intake.admission import Admitted, Letter
from seine.intake.alignment import NO_LEAD, Lead, StreamReach, horizons
from seine.intake.fed_pipeline import FedPipeline, FixedNetwork, NetworkMoment
from seine.intake.feed import Feed, StreamFeed
from seine.intake.feeds import Feeds
from seine.intake.guarded_source import Surroundings
from seine.intake.intake_state import AdmissionState, IntakeState, StreamState
from seine.intake.journal import Draft, Entry, Journal, ReplayDraft, run_name
from seine.intake.spark_feed import PipelineShape, SourceBranch, SparkFeed, TaskOutcome
from seine.intake.stream_status import HoldingLog, StreamStatus
from seine.rows.clock import Clock
from seine.rows.delta import NEVER

DEFAULT_BATCH_ROWS = 200_000
DEFAULT_BYTES = 32 * 1024 * 1024
_MOST_SECONDS_FOR_A_HANDOVER = 60.0  # that a change waits for the entry which makes the pipeline deeper


class Intake:
    """Turns sources into journal entries, resuming after the last entry of an existing journal.

    Streams that queries combine are aligned (`alignment.py`), so that short files do not run ahead of those
    that they are joined with. An entry has at least one row, punctuation or dead letter, or a stream is idle
    and its watermark rises, or it is that of a micro-batch of Spark's; but for the last one, which ends the
    input.
    """

    def __init__(
        self,
        streams: Sequence[StreamDef],
        journal: Journal,
        pipeline: FedPipeline | None = None,
        *,
        batch_rows: int | None = None,
        follow: bool = False,
        fresh: frozenset[str] = frozenset(),
        notice: Callable[[str], None] = lambda text: None,
        lead: Lead = NO_LEAD,
        wall: Callable[[], float] = time.time,
        refuse: bool = True,
    ) -> None:
        """`fresh` are streams to read from the start, even if the journal has a position for that name.

        `lead` is how far a stream may run ahead of those that it is joined with. With `refuse` a source in
        which a fault can be seen now is an error; without, its stream waits until it is mended.
        """
        self.journal = journal
        self._pipeline = pipeline or FixedNetwork()
        self._follow = follow
        self._surroundings = Surroundings(follow, notice, wall)
        self._lead = lead
        self._reading = Lock()  # held while there are admitted lines that are in no entry yet
        self._holding = HoldingLog()
        self._rows = batch_rows or DEFAULT_BATCH_ROWS
        self._planned = self._pipeline.planned
        self._wanted_depth = self._planned.depth if self._planned is not None else 0
        self._handed = Condition()
        self._final = False  # whether the input ends though Spark could read more
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
        feeds = (self._first_feed(stream, state, stream.name in fresh, refuse) for stream in streams)
        self._feeds = Feeds(feeds, self._fill, patient=not follow)

    # ---- streams that come and go

    def _first_feed(self, stream: StreamDef, state: IntakeState, fresh: bool, refuse: bool) -> Feed:
        if not fresh:
            return self._feed(stream, state.streams.get(stream.name), refuse)
        feed = self.open(stream, refuse)
        if isinstance(feed, SparkFeed):
            feed.begin(self._next_number)
        return feed

    def _feed(self, stream: StreamDef, state: StreamState | None, refuse: bool) -> Feed:
        names = [name for runs in state.admission.punctuations for name in runs] if state else []
        last = self.journal.last()
        runs = {name: last.run(run_name(stream.name, name)) for name in names} if last is not None else {}
        if stream.reader is None:
            return StreamFeed(stream, state, runs, self._surroundings, refuse=refuse)
        if not self._pipeline.has_spark:
            raise SeineError(f"stream {stream.name} is read by Spark, which is not here")
        return SparkFeed(stream, state, runs, self._surroundings)

    def open(self, stream: StreamDef, refuse: bool = True) -> Feed:
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

    def change(self, coming: Iterable[Feed], leaving: Iterable[str]) -> None:
        """Add and remove streams as of the next entry; the caller holds `turn`."""
        self._feeds.change(coming, leaving, self.journal.last())

    def alter(self, streams: Iterable[StreamDef]) -> None:
        """Read streams with columns more as of the next entry, or when their sources can be asked again.

        The caller holds `turn`. What was admitted before has no such columns, whichever entry it is in.
        """
        self._feeds.alter(streams)

    def stream_states(self, *, lag: bool = True) -> tuple[StreamStatus, ...]:
        """The status of every stream as of the last entry; any thread may ask.

        Streams that come with the next entry are among them, at their beginning. For the `lag` the files of
        all sources are looked at, but for those that are known to take long.
        """
        return self._feeds.statuses(self._pipeline.components, self.journal.last(), lag=lag)

    def close(self) -> None:
        """Stop the reading threads and close all sources."""
        self._feeds.close()

    # ---- the shape of the pipeline

    @property
    def paced(self) -> bool:
        """Whether every micro-batch of Spark's has an entry, which is written before it begins."""
        return self._pipeline.paced

    def branches(self) -> tuple[SourceBranch, ...]:
        """The streams that Spark is to read."""
        return tuple(feed.branch for feed in self._feeds.spark)

    def deepen(self, depth: int) -> None:
        """Let the pipeline have so many stages, as soon as it can."""
        self._wanted_depth = max(self._wanted_depth, depth)

    def hand_over(self, depth: int) -> Entry:
        """The entry after which the pipeline has `depth` stages; it is waited for where entries are paced."""
        if not self.paced:
            with self._reading, self._pipeline.turn:
                self._feeds.exchange()
                return self._cut({}, end=False, handover=depth, replays=self._pipeline.replays(False))
        self.deepen(depth)
        with self._handed:
            if not self._handed.wait_for(lambda: self._has_depth(depth), _MOST_SECONDS_FOR_A_HANDOVER):
                hint = "see what seine status says of its streams, and try again"
                raise RunError("the pipeline does not come to have more stages: it stands still", hint=hint)
        last = self.journal.last()
        if last is None:
            raise RuntimeError("a pipeline that handed over has entries")
        return last

    def _has_depth(self, depth: int) -> bool:
        return self._planned is not None and self._planned.depth >= depth

    def _due(self) -> int | None:
        """The stages of the pipeline that is to go on from here; None if this one may."""
        if self._planned is None:
            return None
        depth = max(self._planned.depth, self._wanted_depth)
        return None if PipelineShape(depth, self.branches()) == self._planned else depth

    @property
    def _next_number(self) -> int:
        last = self.journal.last()
        return last.number + 1 if last is not None else 0

    # ---- micro-batches of Spark's

    def succeed(self, outcomes: Sequence[TaskOutcome]) -> Entry:
        """Append the entry of the next micro-batch, given what the tasks of the last one report."""
        with self._reading:
            self._note_wall()
            more = any(one.rows or one.dead for one in outcomes)
            for feed in self._feeds.spark:
                feed.take_outcomes([one for one in outcomes if one.stream == feed.stream.name], self._wall)
                if more and not self._final:
                    feed.at_end = False
            return self._next_entry() or self._append({}, end=False)

    def has_news(self) -> bool:
        """Whether the entry after a blank one would say something, so that the blank one must not wait."""
        if self._due() is not None:
            return True
        self._pipeline.before_entry()
        with self._reading:
            with self._pipeline.turn:
                if self._feeds.is_changing or self._is_changed(self._pipeline.moment()):
                    return True
            self._note_wall()
            if any(feed.waiting for feed in self._feeds.fill()) or self._floors():
                return True
            if self._follow and any(feed.would_rise(self._wall) for feed in self._feeds.spark):
                return True
            return bool(self._feeds) and all(feed.ended for feed in self._feeds)

    def end_spark_streams(self, final: bool) -> None:
        """Take the streams that Spark reads as read to their end, unless the next batch brings more.

        Once all others have ended: then the next entry ends the input, or says nothing of it. If it is
        `final` it ends the input whatever comes.
        """
        self._final = final
        with self._reading:
            self._feeds.fill()
            if all(feed.ended for feed in self._feeds if not isinstance(feed, SparkFeed)):
                for feed in self._feeds.spark:
                    feed.at_end = True

    # ---- entries

    def at_rest(self) -> AbstractContextManager[object]:
        """Held, there are no admitted lines that are in no entry yet; to be taken before `turn`."""
        return self._reading

    def next_entry(self) -> Entry | None:
        """Append and return the next entry; None if there is no input now, or no more at all."""
        with self._reading:
            return self._next_entry()

    def _next_entry(self) -> Entry | None:
        with self._pipeline.turn:
            self._feeds.exchange()
            depth, last = self._due(), self.journal.last()
            if depth is not None and not (last is not None and last.handover):  # a pipeline does some work
                return self._cut({}, end=False, handover=depth, replays=self._pipeline.replays(False))
            replays = self._pipeline.replays(True)
            if replays:
                return self._cut({}, end=False, replays=replays)
        while not self._done:
            self._note_wall()
            self._log_holders()
            at_rest = self._feeds.fill()
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

    def _note_wall(self) -> None:
        self._wall = int(self._surroundings.wall() * 1_000_000)

    def _finish(self) -> Entry | None:
        if self._follow and not self._feeds:  # streams may still come
            return None
        if not all(feed.ended for feed in self._feeds):
            return None
        self._done = True
        return self._append({}, end=True)

    def _advance(self, at_rest: Sequence[Feed]) -> dict[str, list[Admitted]]:
        """Admit the lines of every stream that is not being read, up to its horizon."""
        reaches = [
            StreamReach(feed.stream.name, feed.stream.domain, self._feeds.reach(feed)) for feed in self._feeds
        ]
        limits = horizons(reaches, self._pipeline.components, self._lead)
        return {feed.stream.name: feed.take(limits[feed.stream.name]) for feed in at_rest}

    def _append(self, admitted: dict[str, list[Admitted]], *, end: bool) -> Entry:
        self._pipeline.before_entry()
        with self._pipeline.turn:
            for name in self._feeds.leaving:
                admitted.pop(name, None)
            self._feeds.exchange()
            return self._cut(admitted, end=end)

    def _cut(
        self,
        admitted: Mapping[str, list[Admitted]],
        *,
        end: bool,
        handover: int = 0,
        replays: Sequence[ReplayDraft] = (),
    ) -> Entry:
        self._move_clocks()
        moment, clock = self._pipeline.moment(), self._clock(end)
        content = bool(handover or replays or have_content(admitted))
        parts = [part for several in admitted.values() for part in several]
        dead: list[Letter] = [letter for part in parts for letter in part.dead]
        entry = self.journal.append(
            Draft(
                network=moment.version,
                clock=clock,
                rows=_stacked({name: [part.rows for part in parts] for name, parts in admitted.items()}),
                punctuations=_stacked(
                    {name: [part.punctuations for part in parts] for name, parts in admitted.items()}
                ),
                dead=dead,
                intake=self._state(moment, replays),
                since=self._since(moment),
                runs={
                    run_name(feed.stream.name, name): run
                    for feed in self._feeds
                    for name, run in feed.admission.runs().items()
                },
                end=end,
                epoch=moment.epoch,
                handover=handover,
                branches=self.branches() if handover else (),
                replays=replays,
                blank=not content and self._is_blank(clock, moment),
            )
        )
        if handover:
            with self._handed:
                self._planned = PipelineShape(handover, entry.branches)
                self._handed.notify_all()
        return entry

    def _state(self, moment: NetworkMoment, replays: Sequence[ReplayDraft]) -> IntakeState:
        """What the next process goes on with."""
        return IntakeState(
            {feed.stream.name: self._feeds.state_of(feed) for feed in self._feeds},
            self._now,
            moment.next_id,
            self._wall,
            {replay.query: replay.next for replay in replays if not replay.done},
        )

    def _move_clocks(self) -> None:
        """Leave out who is silent, and note which watermarks move with the entry that is cut."""
        if self._follow:
            for one in self._feeds.spark:
                one.leave_out_silent(self._wall)
        raised, last = self._floors(), self.journal.last()
        before = last.clock.watermarks if last is not None else {}
        for feed in self._feeds:
            name, domain = feed.stream.name, feed.stream.domain
            if name in raised:
                feed.admission.floor = raised[name]
            if feed.watermark != before.get(name, NEVER):
                feed.advanced = self._surroundings.wall()
            if feed.latest != NEVER:
                self._now[domain] = max(self._now.get(domain, NEVER), feed.latest)

    def _floors(self) -> Mapping[str, int]:
        """The watermarks that streams which are idle now are to be given."""
        return self._feeds.floors(self._pipeline.components, self._wall) if self._follow else {}

    def _is_blank(self, clock: Clock, moment: NetworkMoment) -> bool:
        """Whether an entry without lines has nothing that stages would have to hear of."""
        last = self.journal.last()
        if not self.paced or clock.end or self._is_changed(moment):
            return False
        if last is None:  # the first micro-batch begins in any case
            return True
        known = {feed.stream.name: feed.known_watermark for feed in self._feeds.spark}
        return {**last.clock.watermarks, **known} == clock.watermarks

    def _is_changed(self, moment: NetworkMoment) -> bool:
        """Whether the network is another than in the last entry."""
        last, now = self.journal.last(), (moment.version, moment.epoch)
        if last is None:
            return False
        return self._since(moment) is not None or now != (last.network, last.epoch)

    def _since(self, moment: NetworkMoment) -> int | None:
        """The first id of the nodes that were added since the last entry; None if there are none."""
        last = self.journal.last()
        known = last.intake.next_id if last is not None else moment.next_id
        return known if known < moment.next_id else None

    def _log_holders(self) -> None:
        """Say in the log who holds others back for long; those who are idle do not."""
        last, now = self.journal.last(), self._wall / 1_000_000
        if not self._follow or last is None or not self._holding.is_due(now):
            return
        advanced = {feed.stream.name: feed.advanced for feed in self._feeds if feed.condition.state != "idle"}
        groups = self._feeds.groups(self._pipeline.components)
        self._holding.look(now, groups, last.clock.watermarks, advanced)

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
