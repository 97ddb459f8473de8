"""Spark as a host: it runs the tasks of a pipeline, and starts it again if a process of Spark's dies.

The Spark plan, the same whatever queries exist: journal and other sources, stages, the sink.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from traceback import format_exception_only
from typing import Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from seine.algebra.aggregates import UserAggregate
from seine.backoff import RESTART_SECONDS, Backoff
from seine.disk_sync import sync_tree
from seine.errors import RunError, SeineError
from seine.intake.spark_feed import SourceBranch
from seine.runtime.driver import Driver, TriedOut
from seine.runtime.flow.task_output import REPORT
from seine.runtime.folder.deployment import Deployment
from seine.runtime.output.task_report import TaskReport
from seine.runtime.spark_reading import SparkReading
from seine.spark.journal_source import SCHEMA, JournalSource
from seine.spark.offset_log import (
    carries,
    carry_offsets,
    is_begun,
    note_committed,
    planned_branches,
    put_off_planned,
)
from seine.spark.pipeline_death import DeathCause, PipelineDeath, death_of, jvm_is_gone
from seine.spark.source_check import SourcePositions, check_source
from seine.spark.source_frames import open_frames
from seine.spark.stage import Stage
from seine.spark.topic_identity import WaitingBranches, check_topics, unreadable_branches
from seine.spark.unfinished import discard_torn, discard_unfinished
from seine.spark.worker_task import synced_after
from seine.topics.offset_ranges import BrokerSilent

_logger = logging.getLogger(__name__)

_SPARK_ERRORS = (Py4JError, PySparkException, ConnectionError)  # what a call into the JVM raises
_NOTHING_NEW = "Waiting for data to arrive"  # the status of a query whose last look found nothing
_OPENING = "Initializing"  # what the status of a query begins with until its sources are open
_OPENING_SECONDS = 10.0  # that stopping waits for that
_MOMENT = 0.02
_SECONDS_FOR_A_BROKER = {False: 60.0, True: 10.0}  # to answer a run, and a service, in which others wait
_MOST_RESTARTS = 5  # in a row, without a micro-batch in between: more than a passing trouble

Unreadable = Mapping[SourceBranch, RunError]  # branches that are not read, and why


class Hosted(Protocol):
    """What a host carries to its end: a run of a script, or a service."""

    @property
    def deployment(self) -> Deployment: ...

    @property
    def driver(self) -> Driver: ...

    @property
    def reading(self) -> SparkReading: ...


@dataclass(frozen=True)
class Restarts:
    """What to do when a process of Spark's dies.

    `most` restarts in a row are tried, None: any number. `reopen` makes another session if the JVM is gone;
    without it that is the end. `notice` hears what died.
    """

    most: int | None = _MOST_RESTARTS
    reopen: Callable[[], SparkSession] | None = None
    notice: Callable[[str], None] = field(default=lambda text: None)


class _TakenUp(Exception):
    """A stream that waited can be read again, by another pipeline."""


class _Died(Exception):
    """The pipeline stopped by itself."""

    def __init__(self, death: PipelineDeath) -> None:
        super().__init__(death.reason)
        self.death = death


def run_on_spark(
    spark: SparkSession,
    run: Hosted,
    aggregates: tuple[type[UserAggregate], ...] = (),
    restarts: Restarts | None = None,
    frames: Mapping[str, DataFrame] | None = None,
) -> None:
    """Feed a run to its end, or until it is stopped; a pipeline that dies for good is a RunError.

    `frames` are the streams that a program brings as streaming DataFrames.
    """
    if not run.driver.finished:
        _SparkHost(spark, run, aggregates, restarts or Restarts(), frames or {}).carry()


class _SparkHost:
    """One run on Spark, through all pipelines that it takes."""

    def __init__(
        self,
        spark: SparkSession,
        run: Hosted,
        aggregates: tuple[type[UserAggregate], ...],
        restarts: Restarts,
        frames: Mapping[str, DataFrame],
    ) -> None:
        self._frames = frames
        self._spark = spark
        self._run = run
        self._aggregates = aggregates
        self._restarts = restarts
        self._backoff = Backoff(*RESTART_SECONDS, most=restarts.most)

    def carry(self) -> None:
        """Start pipelines, one after the other, until there is nothing left to do."""
        driver = self._run.driver
        driver.renew()  # what was wanted before is what we start with
        while True:
            self._run.reading.door.lend(lambda stream: check_source(self._spark, stream, self._run.reading))
            try:
                self._carry_pipeline()
            except (_Died, _TakenUp) as end:
                if isinstance(end, _Died) and not driver.stopped:  # who stops us may stop Spark with us
                    self._start_over(end.death)
                driver.renew()
                if driver.stopped:
                    return
                continue
            if driver.stopped or not driver.renew():
                return

    def _carry_pipeline(self) -> None:
        """Run one pipeline until the run ends, is stopped or wants another one."""
        deployment, reading = self._run.deployment, self._run.reading
        start, positions = deployment.settings.start, SourcePositions(reading)
        failed: list[Exception] = []  # commits

        def commit(batch: int, reports: list[TaskReport]) -> None:
            if deployment.settings.start != start:  # rows came before it was stopped
                raise RunError("this pipeline has handed over", hint="the next one does this micro-batch")
            try:
                self._run.driver.commit(reports, batch)
            except TriedOut:
                raise  # so that Spark does not take it for done
            except Exception as error:
                failed.append(error)
                raise

        def watch() -> None:  # called often: the JVM has other things to do than to answer each time
            if jvm_is_gone():
                raise _Died(death_of(None))
            if self._run.driver.wants_another:
                return
            if end.has_come and not query.isActive:
                self._refuse_failed(failed)
                raise _Died(self._death_of(query.exception()))
            if waiting.can_go_on:
                raise _TakenUp
            positions.look(query, self._run.driver.committed)

        def sources_idle() -> bool:
            return str(query.status["message"]) == _NOTHING_NEW

        depth = deployment.settings.depth
        discard_torn(deployment.spark, self._run.driver.committed, deployment.settings.start)
        try:
            if self._run.driver.paced:  # else a micro-batch may have several entries, and is done again
                note_committed(deployment, self._run.driver.committed)
            frames, unreadable = self._open_frames(reading)
            self._begin(commit)
            query = self._start(commit, frames)
            end, waiting = QueryEnd(query), WaitingBranches(unreadable, self._ask_again, self._tell_failed)
            _logger.info("pipeline started", extra=self._facts(depth))
            try:
                self._run.driver.drive(watch, sources_idle)
            finally:
                waiting.close()
                _stop(query)
        except SeineError as error:
            _logger.error("pipeline failed: %s", error.message, extra=self._facts(depth))
            raise
        except _SPARK_ERRORS as error:
            self._refuse_failed(failed)
            raise _Died(self._death_of(error)) from error
        _logger.info("pipeline stopped", extra=self._facts(depth))

    def _facts(self, depth: int) -> dict[str, int]:
        return {"stages": depth, "entry": self._run.driver.committed}

    def _refuse_failed(self, commits: Sequence[Exception]) -> None:
        """A commit that failed is the end: a sink that may have a part of it is cut back when opened anew."""
        if commits and not self._run.driver.stopped:
            error = commits[0]
            if isinstance(error, SeineError):
                raise error
            reason = self._run.reading.secrets.hide("".join(format_exception_only(error)).strip())
            raise RunError(f"the pipeline stopped: {reason}") from error

    def _open_frames(self, reading: SparkReading) -> tuple[dict[SourceBranch, DataFrame], Unreadable]:
        """The branches of the plan, and in a service why topics are not read: something else has their place.

        A run is refused, or waits for a broker that is silent; a service waits for any other source.
        """
        served = self._restarts.most is None
        try:
            seconds = _SECONDS_FOR_A_BROKER[served]
            unreadable = check_topics(self._run.deployment, reading, seconds)
            if unreadable and not (served and self._may_wait(unreadable)):
                raise next(iter(unreadable.values()))
            waiting = {branch.stream for branch in unreadable}
            streams = [stream for stream in reading.streams if stream.name not in waiting]
            readable = replace(reading, streams=streams)
            return open_frames(self._spark, self._run.deployment, readable, self._frames), unreadable
        except SeineError as error:
            if not (served or isinstance(error, BrokerSilent)):
                raise
            raise _Died(PipelineDeath(DeathCause.SOURCE, error.message)) from error

    def _may_wait(self, unreadable: Unreadable) -> bool:
        """Whether all else can go on without some branches: nothing that was to be read may be passed over.

        A micro-batch that is planned with something of theirs is planned again, if that can be.
        """
        deployment = self._run.deployment
        return planned_branches(deployment).isdisjoint(unreadable) or put_off_planned(deployment)

    def _ask_again(self, branches: Collection[SourceBranch]) -> dict[SourceBranch, RunError | None]:
        """Why branches cannot be read now, of those whose streams have not been dropped meanwhile."""
        reading = self._run.reading
        streams = {stream.name for stream in reading.streams}
        seconds = _SECONDS_FOR_A_BROKER[True]
        unreadable = unreadable_branches(self._run.deployment, reading, seconds)
        return {branch: unreadable.get(branch) for branch in branches if branch.stream in streams}

    def _tell_failed(self, unreadable: Unreadable) -> None:
        """Let the service know which streams wait, and why."""
        hide = self._run.reading.secrets.hide
        reasons = {branch.stream: hide(error.message) for branch, error in unreadable.items()}
        for stream, reason in self._run.reading.door.tell_failed(reasons).items():
            _logger.warning("a stream is not read: %s", reason, extra={"stream": stream})

    def _begin(self, commit: Commit) -> None:
        """Write the first entry; where branches go on from before, do it, and carry their offsets."""
        deployment = self._run.deployment
        seeding = carries(deployment) and not is_begun(deployment)
        self._run.driver.prepare(offer=seeding)
        if seeding:
            query = self._start(commit, {}, deployment.settings.start + 1)
            try:
                query.processAllAvailable()
            finally:
                _stop(query)
        if carries(deployment):
            carry_offsets(deployment)

    def _start(
        self, commit: Commit, frames: Mapping[SourceBranch, DataFrame], until: int | None = None
    ) -> StreamingQuery:
        paced, aggregates = self._run.driver.paced, self._aggregates
        return start_pipeline(
            self._spark, self._run.deployment, aggregates, commit, frames, paced=paced, until=until
        )

    def _death_of(self, error: BaseException | None) -> PipelineDeath:
        """What a pipeline died of, without the secrets that Spark may have put in its words."""
        death = death_of(error)
        return replace(death, reason=self._run.reading.secrets.hide(death.reason))

    def _start_over(self, death: PipelineDeath) -> None:
        """Make ready for another pipeline after one has died, or raise if there is no point in it."""
        driver = self._run.driver
        if driver.settle_fault():  # a query did it, and is out of the network now
            return
        if death.cause is DeathCause.INFRASTRUCTURE:
            settled = driver.settle_death(death.task)
            if settled and not jvm_is_gone():
                return
        if death.cause is DeathCause.WORK and self._restarts.most is None and self._run.reading.streams:
            death = PipelineDeath(DeathCause.SOURCE, death.reason)
        self._run.reading.door.trouble = death.reason
        while True:
            if death.cause is DeathCause.WORK:
                _logger.error("pipeline failed: %s", death.reason)
                raise RunError(f"the pipeline stopped: {death.reason}")
            self._backoff.reached(driver.committed)
            delay = self._backoff.next_seconds()
            if delay is None or (jvm_is_gone() and self._restarts.reopen is None):
                raise RunError(
                    f"the pipeline stopped: {death.reason}",
                    hint="a run with --checkpoint goes on where it was",
                )
            _logger.warning(
                "%s", death.reason, extra={"entry": driver.committed, "restart_in_s": round(delay, 1)}
            )
            self._restarts.notice(f"{death.reason}; the pipeline starts again in {delay:.1f} s")
            driver.rest(delay)
            if driver.stopped or (death.cause is DeathCause.SOURCE and not jvm_is_gone()):
                return
            if not self._reopen_failed():
                return
            death = PipelineDeath(DeathCause.INFRASTRUCTURE, "Spark did not start again")

    def _reopen_failed(self) -> bool:
        """Open another session if the JVM is gone, or did not get far before; True if that did not work."""
        if self._restarts.reopen is None or not (jvm_is_gone() or self._backoff.tries > 1):
            return False
        try:
            self._spark = self._restarts.reopen()
        except SeineError as error:
            _logger.warning("%s", error.message)
            return True
        return False


def _stop(query: StreamingQuery) -> None:
    """End a pipeline, as far as there is a JVM that could.

    One that is still opening its sources is let do that first: cut off in the middle, the process that Spark
    has started for a source finds nobody to connect to, and prints that to standard error.
    """
    if jvm_is_gone():
        return
    try:
        deadline = time.monotonic() + _OPENING_SECONDS
        while (
            query.isActive
            and str(query.status["message"]).startswith(_OPENING)
            and time.monotonic() < deadline
        ):
            time.sleep(_MOMENT)
        query.stop()
    except (Py4JError, ConnectionError) as error:
        if not jvm_is_gone():
            raise
        _logger.debug("the JVM went away with the pipeline: %s", error)


Commit = Callable[[int, list[TaskReport]], None]


def start_pipeline(
    spark: SparkSession,
    deployment: Deployment,
    aggregates: tuple[type[UserAggregate], ...],
    commit: Commit,
    frames: Mapping[SourceBranch, DataFrame],
    *,
    paced: bool,
    until: int | None = None,
) -> StreamingQuery:
    """Start the micro-batches; `commit(batch, reports)` is called at the end of each, in order.

    `frames` are what tasks make of the streams that Spark reads. Each is a branch of its own beside the
    journal's, whose entries are `paced` where there are such; no entry is offered beyond `until`.

    Law: when a batch is committed, Spark's plan of it and the state after it are durable, on every machine.
    The state of a stage is there when the next operator of its task has all its rows: on a cluster that one
    syncs what its machine wrote; where all is on this machine it is synced at once, after the last task.
    """
    settings, elsewhere = deployment.settings, not spark.sparkContext.master.startswith("local")
    discard_unfinished(deployment.spark)
    spark.dataSource.register(JournalSource)
    spark.conf.set("spark.sql.shuffle.partitions", str(len(settings.labels)))
    source = spark.readStream.format(JournalSource.name()).option("folder", deployment.folder)
    source = source.option("start", settings.start).option("paced", str(paced).lower())
    rows = (source if until is None else source.option("until", until)).load()
    for frame in frames.values():
        rows = rows.union(frame)
    for number in range(1, settings.depth + 1):
        stage = Stage(deployment.folder, number, settings.start, aggregates)
        rows = rows.groupBy("bucket").transformWithState(stage, SCHEMA, "Append", "None")
        if elsewhere:
            rows = rows.mapInArrow(partial(synced_after, folder=deployment.spark), SCHEMA)

    def finish(batch: DataFrame, batch_id: int) -> None:
        blobs = [bytes(row.blob) for row in batch.collect() if row.stage == REPORT]
        sync_tree(deployment.spark)
        commit(batch_id, [*map(TaskReport.unpacked, blobs)])

    writer = rows.writeStream.queryName(f"seine {deployment.folder}").foreachBatch(finish)
    return writer.option("checkpointLocation", deployment.spark).start()


class QueryEnd:
    """Whether a query has ended, or can no longer be waited for: then who asks `has_come` looks why."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._come = threading.Event()
        threading.Thread(target=self._wait, name="seine-query-end", daemon=True).start()

    @property
    def has_come(self) -> bool:
        return self._come.is_set()

    def _wait(self) -> None:
        try:
            self._query.awaitTermination()
        except (Py4JError, PySparkException, ConnectionError) as error:
            _logger.debug("the pipeline is no longer waited for: %s", error)
        finally:
            self._come.set()
