"""The driver loop of a pipeline: intake writes journal entries, the sink commits what tasks report.

Intake runs a little ahead of the micro-batches, so that reading and admitting the next
entry overlaps with working on this one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from seine.errors import RunError
from seine.graph.node import Holding
from seine.intake.intake import Intake
from seine.intake.journal import Entry
from seine.intake.spark_feed import PipelineShape
from seine.operators.state.work_budget import NodeFault
from seine.runtime.culprits import Culprits
from seine.runtime.folder.at_work import clear_at_work
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.failures import Failure, Fault
from seine.runtime.output.sink import Sink
from seine.runtime.output.task_report import TaskReport
from seine.runtime.suspects import Suspects

_logger = logging.getLogger(__name__)

_MOST_WAITING = 2  # entries that may wait in the journal
_POLL_SECONDS = 0.05
_SECONDS_TO_LEAVE = 5.0  # that an entry may go on working for a query that is to run no more
_SWEPT_ENTRIES = 256  # after so many the records of worker processes that are gone are removed

Work = Callable[[int], Sequence[TaskReport]]  # does an entry: the reports of its tasks


class Driven(Protocol):
    """The pipeline that a driver feeds, and that hears of what becomes of entries."""

    @property
    def deployment(self) -> Deployment: ...

    @property
    def sink(self) -> Sink: ...

    @property
    def holdings(self) -> Collection[Holding]:
        """What queries hold together, whose peaks are noted."""

    def open_intake(self, follow: bool) -> Intake:
        """Read the sources, or go on reading them; entries are written as fast as it says it is `paced`."""

    def judge(self, entry: int, reports: Sequence[TaskReport]) -> Collection[str]:
        """The queries of which nothing of an entry is delivered, which was made durable."""

    def committed(self) -> None:
        """An entry more has been delivered."""

    def quarantine(self, failures: Mapping[str, Failure]) -> None:
        """Make it durable that queries failed, and withhold from them what is written."""

    def withhold_gone(self, first: int, ceased: bool) -> None:
        """Let the entries from one on go on without queries that were dropped.

        With `ceased` also without those that were paused or replaced.
        """


class TriedOut(RunError):
    """An entry was worked on without some of the queries, to see who kills: it is not to be delivered."""


class Driver:
    """One run of a deployment, from the first entry that is not committed to the last."""

    def __init__(self, pipeline: Driven, follow: bool) -> None:
        self._pipeline = pipeline
        self._deployment = deployment = pipeline.deployment
        self._sink = sink = pipeline.sink
        self._intake = pipeline.open_intake(follow)
        self._following = follow
        self._end_input = False
        self._stopped = False
        self._handed_over = False
        self._suspected: set[tuple[int, tuple[int, ...]]] = set()  # entry and nodes that raised once
        self._suspects = Suspects(deployment)
        self._leaving: _Leaving | None = None
        self._anew = False  # the pipeline is to be started again, as it is
        self._sources_idle: Callable[[], bool] = lambda: False
        self.driving = False  # a pipeline runs, and is fed
        self._moved = threading.Condition()
        self._committing = threading.Lock()
        self._closed = False
        if deployment.journal.exists(sink.totals.entry):  # the last process may have ended right there
            self._hand_over(deployment.journal.load(sink.totals.entry))
        if self._written > self.committed:
            facts = {"committed": self.committed, "written": self._written}
            _logger.info("entries were written and not committed: they are done again", extra=facts)

    @property
    def finished(self) -> bool:
        """Has every entry, the final one included, been committed?"""
        last = self._deployment.journal.last()
        return last is not None and last.end and self._sink.totals.entry >= last.number

    @property
    def _written(self) -> int:
        last = self._deployment.journal.last()
        return last.number if last is not None else -1

    def commit(self, reports: Sequence[TaskReport], batch: int | None = None) -> None:
        """Take the reports of one micro-batch; called in order, perhaps again after a failure.

        One without reports has no entry, as Spark's first if nothing was admitted: it commits nothing. Where
        entries are paced, each `batch` of Spark's has one: its number, counted from where the pipeline began.
        """
        if self.paced and batch is not None:
            number = self._deployment.settings.start + 1 + batch
            if number > self._written and self.finished:  # we are about to stop
                return
        elif not reports:
            return
        else:
            number = reports[0].entry
        if number == self._suspects.tried and number > self.committed:
            self._suspects.after_pass()
            self._start_anew()
            raise TriedOut("a micro-batch was tried out", hint="it is repeated with everybody")
        with self._committing:
            self._commit(number, reports)
        with self._moved:
            self._moved.notify_all()

    def _start_anew(self) -> None:
        """Let the host start the pipeline again."""
        self._anew = True
        with self._moved:
            self._moved.notify_all()

    def leave_out(self, queries: Collection[str]) -> None:
        """Let queries that are to run no more not hold up the entry that is worked on; from any thread.

        If nodes of theirs alone are at work in a few seconds, the pipeline is started again without them.
        """
        leaving = self._leaving
        if leaving is None or leaving.entry != self.committed + 1:
            leaving = self._leaving = _Leaving(self.committed + 1)
        leaving.add(queries)

    def _is_held_up(self) -> bool:
        """Whether nodes of queries that are to run no more, and of no others, are at work on that entry."""
        leaving = self._leaving
        if leaving is None or leaving.entry != self.committed + 1 or not leaving.is_due():
            return False
        if self._deployment.journal.exists(leaving.entry):
            leaving.holds_up = self._suspects.is_held_up(leaving.entry, leaving.queries)
        return leaving.holds_up

    @property
    def paced(self) -> bool:
        """Whether Spark reads streams: then every micro-batch of Spark's has an entry."""
        return self._paced_intake is not None

    @property
    def _paced_intake(self) -> Intake | None:
        return self._intake if self._intake.paced else None

    @contextmanager
    def still(self) -> Iterator[None]:
        """Within this no micro-batch is committed."""
        with self._committing:
            yield

    def _commit(self, number: int, reports: Sequence[TaskReport]) -> None:
        if self._closed:  # a batch that nobody waits for any more: whoever goes on does it again
            raise RunError("the run is closed", hint="this micro-batch is repeated when it goes on")
        entry = self._deployment.journal.load(number)
        self._write_next(entry, reports)
        withheld = self._pipeline.judge(number, reports) if number > self._sink.totals.entry else ()
        self._sink.commit(entry, reports, self._pipeline.holdings, withheld)
        self._deployment.journal.discard_before(entry.number)
        self._deployment.faults.clear()  # of attempts that others made up for
        if entry.number % _SWEPT_ENTRIES == 0:
            clear_at_work(self._deployment.at_work)
        self._hand_over(entry)
        if 0 <= self._deployment.settings.start == entry.number - 2:  # its first batch is Spark's for good
            self._deployment.sweep()
        self._pipeline.committed()

    def _write_next(self, entry: Entry, reports: Sequence[TaskReport]) -> None:
        """Write the next entry of a paced pipeline, unless that was done before a crash.

        It comes before this entry is counted as delivered: what tasks reported must not be lost.
        """
        intake = self._paced_intake
        if intake is not None and self._written == entry.number and not entry.end:
            intake.succeed([report.source for report in reports if report.source is not None])

    def _hand_over(self, entry: Entry) -> None:
        """If it was the last entry of its pipeline, let another one go on."""
        if entry.handover and entry.number > self._deployment.settings.start:
            self._deployment.take_over(entry.number, PipelineShape(entry.handover, entry.branches))
            _logger.info("pipeline handed over", extra={"entry": entry.number, "stages": entry.handover})
            self._handed_over = True

    def renew(self) -> bool:
        """Is another pipeline wanted than the one before? To be called before one is started."""
        wanted = self._handed_over or self._anew
        self._handed_over = self._anew = False
        return wanted

    @property
    def wants_another(self) -> bool:
        """Is the pipeline that runs to end, for another one?"""
        return self._handed_over or self._anew

    def close(self) -> None:
        """Take no more reports, once those that have come are committed, and let go of the sources."""
        with self._committing:
            self._closed = True
        self._intake.close()

    def end_input(self) -> None:
        """Read what is there now to its end, and then finish: nothing can follow in this folder any more."""
        self._end_input = True

    @property
    def committed(self) -> int:
        """The last entry that was committed; -1 if none was."""
        return self._sink.totals.entry

    def rest(self, seconds: float) -> None:
        """Wait, but no longer than until `stop`."""
        with self._moved:
            self._moved.wait_for(lambda: self._stopped, seconds)

    @property
    def stopped(self) -> bool:
        """Has somebody called `stop`?"""
        return self._stopped

    def stop(self) -> None:
        """Leave `drive` soon, in the middle of the input; another run goes on from there."""
        self._stopped = True
        with self._moved:
            self._moved.notify_all()

    def drive(self, watch: Callable[[], None], sources_idle: Callable[[], bool] = lambda: False) -> None:
        """Feed until all is committed, or `stop`, or another pipeline is wanted.

        `watch` raises if the pipeline has died; `sources_idle` says whether Spark has read all that there is.
        """
        self._sources_idle = sources_idle
        self.driving = True
        try:
            while not (self.finished or self._stopped or self.wants_another):
                watch()
                if self._is_held_up():
                    _logger.warning("queries that ended are still at work: the pipeline starts again without")
                    self._anew = True
                    continue
                if not self._feed():
                    with self._moved:
                        self._moved.wait(_POLL_SECONDS)
        finally:
            self.driving = False

    def run_all(self, work: Work) -> None:
        """Do every entry here and now."""
        while not self.finished:
            self.run_some(work)

    def run_some(self, work: Work) -> bool:
        """Do what there is to do at the moment, here and now; False if that was nothing."""
        fed = self._feed()
        self._make_ready()
        waiting = range(self._sink.totals.entry + 1, self._written + 1)
        for number in waiting:
            self.commit(self._done(work, number))
        return fed or bool(waiting)

    def _done(self, work: Work, number: int) -> Sequence[TaskReport]:
        while True:
            try:
                return work(number)
            except NodeFault:
                if not self.settle_fault():
                    raise

    def settle_fault(self) -> bool:
        """Put down to queries what the pipeline died of, and quarantine them; False if no query did it.

        To be called when nothing runs; if True, the pipeline can be started again and goes on without
        them. An error is believed when it is raised twice: the first time may have been the machine's.
        """
        faults = self._deployment.faults.read()
        self._deployment.faults.clear()
        first = next((one.entry for one in faults if self._deployment.journal.exists(one.entry)), None)
        if first is None:
            return False
        believed = [fault for fault in faults if fault.entry == first and self._is_believed(fault)]
        failures = Culprits(self._deployment, first).of(believed) if believed else {}
        if failures:
            self._fail(failures)
        return bool(failures) or not believed

    def _is_believed(self, fault: Fault) -> bool:
        """Whether a fault is to be put down to somebody; an error that is met for the first time is noted."""
        if fault.kind in ("budget", "function") or (fault.entry, fault.nodes) in self._suspected:
            return True
        self._suspected.add((fault.entry, fault.nodes))
        _logger.warning("tried once more: %s", fault.reason, extra={"entry": fault.entry})
        return False

    def settle_death(self, task: int | None = None) -> bool:
        """Note that a process died that left no fault; whether the next attempt is another one for it.

        A query may be quarantined, or the next attempt have some of the queries only. `task` is the host's
        number of the task whose process died. To be called when nothing runs, once for each death.
        """
        failures = self._suspects.after_death(self.committed + 1, task)
        if failures:
            self._fail(failures)
        return bool(failures) or self._suspects.tried is not None

    def _make_ready(self) -> None:
        """Let the entries that wait have the queries that they are to have. Nothing may run."""
        self._suspects.lay_out()
        self._pipeline.withhold_gone(self.committed, self._leaving is not None and self._leaving.holds_up)
        if self._leaving is not None:
            self._leaving.clear()

    def _fail(self, failures: Mapping[str, Failure]) -> None:
        self._pipeline.quarantine(failures)
        for name, failure in failures.items():
            facts = {"query": name, "entry": failure.entry, "kind": failure.kind}
            _logger.warning("query failed: %s", failure.reason, extra=facts)

    def prepare(self, offer: bool = False) -> None:
        """Write the first entry of a paced pipeline, if there is none: Spark may begin with rows at once.

        With `offer` it is worked on though no rows come for it.
        """
        self._make_ready()
        with self._committing:
            intake = self._paced_intake
            if intake is not None and self._written <= self._sink.totals.entry:
                intake.succeed(())
            if offer:
                self._deployment.journal.offer(self._deployment.settings.start + 1)

    def _feed_paced(self, intake: Intake) -> bool:
        """Let a blank entry be worked on if something waits behind it."""
        journal, waiting = self._deployment.journal, self._written
        if waiting <= self._sink.totals.entry or journal.is_offered(waiting):
            return False
        if self._following and self._end_input:
            intake.close()
            self._intake, self._following = self._pipeline.open_intake(False), False
            return True
        if not self._following and (self._end_input or self._sources_idle()):
            intake.end_spark_streams(final=self._end_input)
        if intake.has_news():
            journal.offer(waiting)
            return True
        return False

    def _feed(self) -> bool:
        """Append one entry if there is room and input."""
        if self._paced_intake is not None:
            with self._committing:
                intake = self._paced_intake
                return intake is not None and self._feed_paced(intake)
        last = self._deployment.journal.last()
        if last is not None and (last.end or last.number - self._sink.totals.entry >= _MOST_WAITING):
            return False
        if last is not None and last.branches and last.number > self._sink.totals.entry:
            return False  # the pipeline after it wants its entries one by one
        entry = self._intake.next_entry()
        if entry is None and self._following and self._end_input:
            # The journal knows how far intake got; one that does not follow goes on from there.
            self._intake.close()
            self._intake, self._following = self._pipeline.open_intake(False), False
            entry = self._intake.next_entry()
        return entry is not None


class _Leaving:
    """Queries that are to run no more, and the entry that was worked on when that was said.

    Each time that one is looked for takes twice as long as the one before: however often queries are dropped,
    an entry that takes long comes to its end.
    """

    def __init__(self, entry: int) -> None:
        self.entry = entry
        self.queries: set[str] = set()
        self.holds_up = False  # one of them was found at work
        self._seconds = _SECONDS_TO_LEAVE
        self._next_look = 0.0

    def add(self, queries: Collection[str]) -> None:
        """These too are to run no more."""
        if not self.queries:
            self._next_look = time.monotonic() + self._seconds
        self.queries |= {*queries}

    def is_due(self) -> bool:
        """Is it time to look for them?"""
        if not self.queries or time.monotonic() < self._next_look:
            return False
        self._seconds *= 2
        self._next_look = time.monotonic() + self._seconds
        return True

    def clear(self) -> None:
        """None of them runs any more."""
        self.queries, self.holds_up = set(), False
