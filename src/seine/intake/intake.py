"""The ingestion loop: reads the streams side by side in event time and writes the journal, entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from threading import Lock

import pyarrow as pa

from seine.algebra.definitions import StreamDef
from seine.errors import SeineError
from seine.intake.admission import Admitted, Letter
from seine.intake.feed import StreamFeed
from seine.intake.intake_state import AdmissionState, IntakeState, StreamState
from seine.intake.journal import Draft, Entry, Journal, run_name
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER

DEFAULT_BATCH_ROWS = 200_000
DEFAULT_BYTES = 32 * 1024 * 1024
_READING_THREADS = 4


class Intake:
    """Turns sources into journal entries, resuming after the last entry of an existing journal.

    Streams of one time domain are aligned: in each entry every stream stops at the event time that the
    slowest one with more data reaches, so that short files do not run ahead. An entry has at least one row,
    punctuation or dead letter, but for the last one, which ends the input.

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
    ) -> None:
        """`fresh` are streams to read from the start, even if the journal has a position for that name."""
        self.journal = journal
        self._epoch = epoch
        self._next_id = next_id
        self._withheld = withheld
        self._turn = turn if turn is not None else nullcontext()
        self._follow = follow
        self._notice = notice
        self._reading = Lock()  # held while there are admitted lines that are in no entry yet
        self._coming: list[StreamFeed] = []
        self._leaving: set[str] = set()
        self._rows = batch_rows or DEFAULT_BATCH_ROWS
        self._network = network
        journal.recover()
        last = journal.last()
        state = last.intake if last is not None else IntakeState()
        self._now = dict(state.now)
        self._done = last is not None and last.end
        if self._done and follow:
            raise SeineError(
                "the input of this checkpoint has ended: it cannot be followed any more",
                hint="start a new checkpoint",
            )
        kept = state.streams
        self._feeds = [
            self.open(stream) if stream.name in fresh else self._feed(stream, kept.get(stream.name))
            for stream in streams
        ]
        self._pool = ThreadPoolExecutor(_READING_THREADS, "intake")

    def _feed(self, stream: StreamDef, state: StreamState | None) -> StreamFeed:
        names = [name for runs in state.admission.punctuations for name in runs] if state else []
        runs = {name: self.journal.run(run_name(stream.name, name)) for name in names}
        return StreamFeed(stream, state, runs, follow=self._follow, notice=self._notice)

    def open(self, stream: StreamDef) -> StreamFeed:
        """Open a stream that is to be added, from its beginning; an error if its source cannot be read.

        If there was a stream of that name before, the numbering of its punctuation runs goes on: the name
        of a run is never used twice.
        """
        last = self.journal.last()
        before = last.intake.streams.get(stream.name) if last is not None else None
        if before is None:
            return self._feed(stream, None)
        return self._feed(stream, StreamState(admission=AdmissionState(made=before.admission.made)))

    def change(self, coming: Iterable[StreamFeed], leaving: Iterable[str]) -> None:
        """Add and remove streams as of the next entry; the caller holds `turn`."""
        removed = set(leaving)
        for feed in self._coming:
            if feed.stream.name in removed:
                feed.close()
        self._coming = [feed for feed in self._coming if feed.stream.name not in removed] + list(coming)
        self._leaving |= removed

    def _exchange(self) -> None:
        """Apply what `change` requested; the caller holds `turn`."""
        for feed in self._feeds:
            if feed.stream.name in self._leaving:
                feed.close()
        self._feeds = [feed for feed in self._feeds if feed.stream.name not in self._leaving] + self._coming
        self._coming, self._leaving = [], set()

    def hand_over(self, depth: int) -> Entry:
        """Append an entry without rows, after which the pipeline has `depth` stages."""
        with self._reading, self._turn:
            self._exchange()
            return self._cut({}, end=False, handover=depth)

    def next_entry(self) -> Entry | None:
        """Append and return the next entry; None if there is no input now, or no more at all."""
        with self._reading:
            return self._next_entry()

    def _next_entry(self) -> Entry | None:
        with self._turn:
            self._exchange()
        while not self._done:
            list(self._pool.map(lambda feed: feed.fill(self._rows, DEFAULT_BYTES), self._feeds))
            if not any(feed.waiting for feed in self._feeds):
                return self._finish()
            admitted = self._advance()
            if any(_has_content(part) for parts in admitted.values() for part in parts):
                return self._append(admitted, end=False)
        return None

    def close(self) -> None:
        """Stop the reading threads and close all sources."""
        self._pool.shutdown()
        for feed in self._feeds:
            feed.close()

    def _finish(self) -> Entry | None:
        if self._follow and not self._feeds:  # streams may still come
            return None
        if not all(feed.ended for feed in self._feeds):
            return None
        self._done = True
        return self._append({}, end=True)

    def _advance(self) -> dict[str, list[Admitted]]:
        """Admit the lines of every stream up to the event time that the slowest of its domain reaches."""
        horizons: dict[str, int] = {}
        for feed in self._feeds:
            reach = feed.reach()
            if reach is not None:
                domain = feed.stream.domain
                horizons[domain] = min(horizons.get(domain, FOREVER), reach)
        return {
            feed.stream.name: feed.take(horizons.get(feed.stream.domain, FOREVER)) for feed in self._feeds
        }

    def _append(self, admitted: dict[str, list[Admitted]], *, end: bool) -> Entry:
        with self._turn:
            for name in self._leaving:
                admitted.pop(name, None)
            self._exchange()
            return self._cut(admitted, end=end)

    def _cut(self, admitted: Mapping[str, list[Admitted]], *, end: bool, handover: int = 0) -> Entry:
        for feed in self._feeds:
            latest = max((part.latest for part in admitted.get(feed.stream.name, [])), default=NEVER)
            if latest != NEVER:
                domain = feed.stream.domain
                self._now[domain] = max(self._now.get(domain, NEVER), latest)
        dead: list[Letter] = [letter for parts in admitted.values() for part in parts for letter in part.dead]
        return self.journal.append(
            Draft(
                network=self._network(),
                clock=self._clock(end),
                rows=_stacked({name: [part.rows for part in parts] for name, parts in admitted.items()}),
                punctuations=_stacked(
                    {name: [part.punctuations for part in parts] for name, parts in admitted.items()}
                ),
                dead=dead,
                intake=IntakeState(
                    {feed.stream.name: feed.state() for feed in self._feeds}, self._now, self._next_id()
                ),
                since=self._since(),
                runs={
                    run_name(feed.stream.name, name): run
                    for feed in self._feeds
                    for name, run in feed.admission.runs().items()
                },
                end=end,
                epoch=self._epoch(),
                handover=handover,
                withheld=self._withheld(),
            )
        )

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
        )


def _has_content(part: Admitted) -> bool:
    return bool(part.rows.num_rows or part.punctuations.num_rows or part.dead)


def _stacked(parts: Mapping[str, list[pa.RecordBatch]]) -> dict[str, pa.RecordBatch]:
    """One batch for each stream that has rows."""
    result = {}
    for name, batches in parts.items():
        full = [batch for batch in batches if batch.num_rows]
        if full:
            result[name] = pa.concat_batches(full) if len(full) > 1 else full[0]
    return result
