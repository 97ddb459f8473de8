"""A pipeline in a folder that runs for ever, on any host, while queries come and go."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice

from seine.algebra.definitions import StreamDef
from seine.catalog.catalog import Catalog
from seine.intake.alignment import NO_LEAD, Lead
from seine.intake.intake import Intake
from seine.intake.journal import ReplayDraft
from seine.intake.retained_entries import RetainedEntries
from seine.intake.retention_limit import RetentionLimit
from seine.intake.spark_feed import PipelineShape
from seine.intake.stream_status import StreamStatus
from seine.lifecycle.edited_network import planned_depth, planned_shape
from seine.lifecycle.pipeline import Pipeline
from seine.lifecycle.query_history import pending_replays
from seine.lifecycle.registrar import Registrar
from seine.lifecycle.view import MOST_USERS, MissingError, View
from seine.network.network import Network
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.operators.state.work_budget import WorkBudget
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.kept_functions import keep_functions, load_functions
from seine.runtime.folder.sampling import SampleFiles, StreamSamples
from seine.runtime.folder.settings import FORMAT, new_settings
from seine.runtime.history_replay import HistoryReplays
from seine.runtime.option_secrets import OptionSecrets
from seine.runtime.output.log_files import LogFiles
from seine.runtime.output.sink import Sink
from seine.runtime.output.task_report import TaskReport
from seine.runtime.output.totals import exact_share
from seine.runtime.spark_reading import SparkDoor, SparkReading
from seine.service.access.allow_list import AllowList
from seine.service.access.audit_log import AuditedChanges, AuditLog
from seine.service.access.quotas import Quota
from seine.service.answers import (
    CostsAnswer,
    DeadLetterPage,
    PushAnswer,
    QueryAnswer,
    RelatedAnswer,
    RetainedAnswer,
    SinkAnswer,
    SnapshotAnswer,
    StatusAnswer,
    StreamAnswer,
    sink_answer,
)
from seine.service.backup.folder_snapshot import take_snapshot
from seine.service.batch_traces import BatchTraces
from seine.service.catalog_record import PENDING, CatalogRecord, restore
from seine.service.costs import CostMeter, CostPart, NodeCost, costs_answer, kind_costs
from seine.service.dead_letters import latest_dead_letters, read_dead_letters
from seine.service.figures import FigureTaker
from seine.service.folder import ServiceFolder
from seine.service.node_rows import NodeRows
from seine.service.published_state import PublishedState, Publisher
from seine.service.push_door import PushDoor
from seine.service.recent_batches import RecentBatches
from seine.service.recent_rows import RecentRows
from seine.service.related import RelatedQueries
from seine.service.source_gate import ServicePolicy, SourceGate
from seine.service.stream_answer import stream_answer, waits_for
from seine.sinks.sink_threads import SinkThreads
from seine.typed_json import typed_value

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServiceOptions:
    """How to serve; `buckets` is fixed when a folder is new, and there are at least `depth` stages.

    `budget` is what a node may spend in a task, None for what the folder has. Without `reading` no source is
    opened: what is registered can be looked at and dropped, and nothing runs. Within the limit `retain` input
    that is done is kept, for queries that begin with history; within `keep`, results and dead letters.
    `secrets` are values of options. `reach` is what may be read and written, beside `input/` and
    `output/` of the folder. `quota` is the most of each owner. `traces` get every micro-batch. Each worker
    process may have `worker_memory` bytes to itself, 0: as many as there are.
    """

    batch_rows: int | None = None
    buckets: int = 2
    depth: int = 4
    notice: Callable[[str], None] = field(default=lambda text: None)
    progress: Callable[[Sink], None] = field(default=lambda sink: None)
    budget: WorkBudget | None = None
    reading: bool = True
    lead: Lead = NO_LEAD
    retain: RetentionLimit | None = None
    keep: RetentionLimit | None = None
    strategy: Strategy = CONFIGURATIONS["all"]
    secrets: OptionSecrets = field(default_factory=lambda: OptionSecrets(environment=False))
    reach: AllowList = field(default_factory=AllowList)
    quota: Quota = field(default_factory=Quota)
    traces: BatchTraces | None = None
    worker_memory: int = 0


class Service(Pipeline):
    """Opens a folder and goes on where the last process left it, however that ended.

    Any thread may ask it what it is doing: answers are worked out from the `published` state, which never
    changes, and not from what the registrar and the driver are changing.
    """

    def __init__(self, folder: ServiceFolder, options: ServiceOptions) -> None:
        self.folder = folder
        self._lock = folder.lock()
        with ExitStack() as undo:
            undo.callback(self._lock.release)
            self._catalog = Catalog(folder.catalog)
            undo.callback(self._catalog.close)
            self._open(folder, options)
            undo.pop_all()

    def _open(self, folder: ServiceFolder, options: ServiceOptions) -> None:
        super().__init__(Deployment(folder.pipeline), options.notice)
        self._prepare(options)
        load_functions(self.deployment.store)
        keep_functions(self.deployment.store)
        self.deployment.recover()
        folder.recover()
        os.makedirs(folder.input, exist_ok=True)
        self._door, self._pushes = SparkDoor(), PushDoor(folder.pushed)
        with self._catalog.read() as snapshot:
            self._reach = options.reach.with_own(folder.input, folder.output)
            sources = SourceGate(folder, options.secrets, self._door, self._pushes, self._reach)
            standing = restore(snapshot, self.deployment, sources.roots, options.strategy)
            pending_lines = typed_value(snapshot.setting(PENDING, []), list[str])
        view = standing.view
        shutil.rmtree(folder.snapshots, ignore_errors=True)  # of a backup that was cut off
        self._secrets, self._batch_rows = options.secrets, options.batch_rows
        self._pushes.clear(view.declared.streams.values())
        if options.reading:
            sources.refuse_standing(view)
        self.source_roots = sources.roots
        self.samples, self._sample_files = StreamSamples(), SampleFiles(folder.samples)
        self._sample_files.load(self.samples, view.declared.streams)
        policy = ServicePolicy(folder, sources, options.quota, options.secrets)
        self.registrar = Registrar(self, standing, CatalogRecord(self._catalog), policy, self.samples)
        self.relations = RelatedQueries(self.registrar, self._catalog)
        log = AuditLog(folder.audit)
        log.append_missing(pending_lines)  # of a change that the last process did not live to note
        self.changes = AuditedChanges(self.registrar, log)
        self._retained = self._open_retained(options)
        self.retained = self._retained if options.retain is not None else None
        self.intake = self._open_intake(options)
        files, keep = (folder.results, folder.dead), options.keep
        self.sink = Sink(self.deployment, *files, self.limits, indexed=True, keep=keep)
        self.threads = self._open_sinks(folder, options) if options.reading else None
        self._figures, self._costs = FigureTaker(self.sink), CostMeter()
        self.recent, self.recent_rows = RecentBatches(self.sink.totals), RecentRows()
        self.publisher = Publisher(view, self._figures.take())
        self._quota, self._traces = options.quota, options.traces
        self._progress = options.progress
        if options.depth > planned_depth(self.deployment):
            self.intake.deepen(options.depth)
        self.begin(follow=True)
        self._node_rows = NodeRows(self._catalog, self.published.view)
        self.publisher.listen(lambda: self._node_rows.show(self.published.view))
        _logger.info(
            "service opened",
            extra={
                "folder": folder.path,
                "version": view.version,
                "queries": len(view.registered),
                "entry": self.sink.totals.entry,
            },
        )

    def _prepare(self, options: ServiceOptions) -> None:
        """Make the folder of the pipeline; a crash in the middle of that leaves it to be made anew."""
        if self.deployment.exists():
            had = self.deployment.bring_up_to_date()
            if had != FORMAT:
                options.notice(f"the folder had format {had}, and has format {FORMAT} now")
            self.deployment.allow(options.budget)
            self.deployment.hold_workers(options.worker_memory)
            return
        self.deployment.refuse_foreign()
        self.deployment.versions.save(Network(live=True), [], {})
        self.deployment.create(new_settings(options.buckets, options.depth, budget=options.budget))
        self.deployment.hold_workers(options.worker_memory)

    def _open_retained(self, options: ServiceOptions) -> RetainedEntries | None:
        """What is retained of the input that is done, and goes on being so while a query is behind."""
        journal = self.deployment.journal

        def is_needed() -> bool:
            return bool(pending_replays(self.registrar.view, journal.last()))

        if options.retain is None and not is_needed():
            return None
        limit = options.retain or RetentionLimit()
        retained = RetainedEntries(journal, limit, is_needed)
        keeps = options.retain is not None
        journal.keep_discarded(lambda entry: retained.absorb(entry) if keeps or is_needed() else None)
        self._histories = HistoryReplays(retained, options.batch_rows)
        return retained

    def replays(self, advance: bool) -> list[ReplayDraft]:
        """What the next entry brings to queries that have not caught up with their history."""
        view, last = self.registrar.view, self.deployment.journal.last()
        pending = pending_replays(view, last) if view.histories and self._retained is not None else []
        if not pending or last is None:
            return []
        return self._histories.drafts(pending, view.declared.streams, last, advance)

    def open_intake(self, follow: bool) -> Intake:
        return self.intake

    def _open_intake(self, options: ServiceOptions) -> Intake:
        view, last = self.registrar.view, self.deployment.journal.last()
        return Intake(
            list(view.declared.streams.values()) if options.reading else [],
            self.deployment.journal,
            self,
            batch_rows=options.batch_rows,
            follow=True,
            fresh=view.fresh(last),
            notice=options.notice,
            lead=options.lead,
            refuse=False,  # what was registered once must not keep everybody from starting
        )

    # ---- what intake asks

    has_spark = True

    @property
    def planned(self) -> PipelineShape:
        return planned_shape(self.deployment)

    @property
    def paced(self) -> bool:
        return bool(self.deployment.settings.branches)

    def _open_sinks(self, folder: ServiceFolder, options: ServiceOptions) -> SinkThreads:
        index, hosts = self.sink.index, self._reach.sink_hosts
        return SinkThreads(
            self.deployment.store, folder.undelivered, index, options.secrets, options.keep, hosts
        )

    @property
    def reading(self) -> SparkReading:
        """The streams that Spark reads for the pipeline that runs; of those that were dropped, nothing."""
        view, branches = self.registrar.view, self.deployment.settings.branches
        streams = [
            view.declared.streams[branch.stream]
            for branch in branches
            if view.since.get(branch.stream) == branch.born
        ]
        hosts = self._reach.source_hosts
        return SparkReading(streams, self._secrets, self._batch_rows, branches, self._door, hosts)

    @property
    def published(self) -> PublishedState:
        """What readers see; whoever wants answers that fit together takes it once."""
        return self.publisher.current

    def publish(self, view: View) -> None:
        self.publisher.publish_view(view)
        self.follow_sinks()

    def snapshot(self) -> SnapshotAnswer:
        """What a kill at this moment would leave, in a folder that whoever asked for it removes."""
        with self.driver.still(), self.turn:
            return {"folder": take_snapshot(self.folder), "entry": self.sink.totals.entry}

    def stop(self) -> None:
        """End soon; whoever waits for results hears that there will be no more."""
        _logger.info("service stops", extra={"folder": self.folder.path})
        self.driver.stop()
        self.publisher.end()

    def close(self) -> None:
        super().close()
        self._node_rows.close()
        self._sample_files.save(self.samples, everything=True)
        self._catalog.close()
        self._lock.release()
        _logger.info("service closed", extra={"folder": self.folder.path, "entry": self.sink.totals.entry})

    @property
    def waiting_entries(self) -> int:
        """Entries that are admitted and not delivered, but for one that only waits for rows of Spark's."""
        return self.deployment.journal.waiting_after(self.published.figures.entry)

    def status(self) -> StatusAnswer:
        """What the service is doing, in numbers."""
        state, last = self.published, self.deployment.journal.last()
        view, figures = state.view, state.figures
        over_quota = view.over_quota
        failed = len(view.failures) - len(over_quota)
        paused = sum(one.paused for one in view.registered.values()) - failed
        return {
            "folder": self.folder.path,
            "process": os.getpid(),
            "version": view.version,
            "entry": figures.entry,
            "written": last.number if last is not None else -1,
            "waiting": self.waiting_entries,
            "batches": figures.batches,
            "input_rows": figures.input_rows,
            "output_rows": figures.output_rows,
            "dead_letters": figures.dead_letters,
            "rows_per_second": round(figures.rows_per_second(), 1),
            "state_rows": sum(figures.state_rows.values()),
            "group_rows": sum(figures.group_rows.values()),
            "punctuations": sum(figures.punctuation_rows.values()),
            "shed": sum(account.shed for account in figures.memory.values()),
            "exact_share": exact_share(figures.memory.values()),
            "state_by_query": state.largest_states(),
            "streams": len(view.declared.streams),
            "stream_troubles": {
                one.stream: words
                for one in self.stream_states(lag=False)
                if (words := one.trouble()) is not None
            },
            "pipeline_trouble": self._door.trouble or None,
            "relations": len(view.declared.relations),
            "queries": {
                "running": len(view.registered) - paused - failed,
                "paused": paused,
                "failed": failed,
            },
            "dearest": {one["query"]: one["cost"] for one in self.costs("cpu", MOST_USERS)["queries"]},
            "over_quota": dict(islice(over_quota.items(), MOST_USERS)),
            "nodes": len(view.nodes),
            "joined_births": sum(one.position.joined for one in view.registered.values() if not one.paused),
            "depth": {"used": view.depth, "stages": self.deployment.settings.depth},
            "retained": self._retained_answer(),
            "kept": {"results": self.sink.index.results.first, "dead_letters": figures.dead_starts[0]},
            "sinks": self.sinks(),
        }

    def sinks(self) -> list[SinkAnswer]:
        """Every sink and how far it has come."""
        return [sink_answer(status) for status in self.sink_states()]

    def _retained_answer(self) -> RetainedAnswer | None:
        if self._retained is None:
            return None
        first, newest, rows, size = self._retained.figures()
        return {"first": first, "last": newest, "rows": rows, "bytes": size}

    def stream_states(self, *, lag: bool = True) -> tuple[StreamStatus, ...]:
        """Every stream: its position, lag and watermark, what it lost, whether it can be read."""
        return self._door.judged(self.intake.stream_states(lag=lag))

    def streams(self) -> list[StreamAnswer]:
        """The same as it is answered."""
        streams = self.published.view.declared.streams
        return [
            stream_answer(
                status,
                self._door.position(status.stream)
                if status.stream in streams and streams[status.stream].reader is not None
                else None,
            )
            for status in self.stream_states()
        ]

    def takes_records(self, stream: StreamDef) -> bool:
        """Whether records can be sent to a stream."""
        return self._pushes.takes(stream)

    def push(self, name: str, body: bytes, key: str | None) -> PushAnswer:
        """Take records for a stream; when this returns they are durable."""
        stream = self.published.view.declared.streams.get(name.lower())
        if stream is None:
            raise MissingError(f"there is no stream {name}")
        taken = self._pushes.push(stream, body, key)
        return {"stream": stream.name, "lines": taken.lines, "repeated": taken.repeated}

    def latest_dead_letters(self, before: int | None, stream: str | None, most: int) -> DeadLetterPage:
        """The newest dead letters, or those before a position; perhaps of one stream alone."""
        figures = self.published.figures
        files = LogFiles(self.folder.dead, figures.dead_starts)
        end = figures.dead_bytes if before is None else min(before, figures.dead_bytes)
        return latest_dead_letters(files, end, stream, most)

    def dead_letters(self, after: int | None, stream: str | None, most: int) -> DeadLetterPage:
        """Dead letters from a position on, or from the first that is kept; perhaps of one stream alone."""
        figures = self.published.figures
        files = LogFiles(self.folder.dead, figures.dead_starts)
        return read_dead_letters(files, after, figures.dead_bytes, stream, most)

    def queries(self) -> list[QueryAnswer]:
        """Every query with what it has delivered, in the order of registration."""
        state, streams = self.published, self.stream_states(lag=False)
        return [_with_waits(answer, streams) for answer in state.queries()]

    def query(self, name: str) -> QueryAnswer:
        """One query with what it has delivered."""
        return _with_waits(self.published.query(name), self.stream_states(lag=False))

    def related(self, name: str) -> RelatedAnswer:
        """What a query has in common with those that run."""
        query, relations = self.relations.of(name)
        return {"query": query.name, "related": [one.to_json() for one in relations]}

    def costs(self, by: CostPart, most: int) -> CostsAnswer:
        """The dearest queries and nodes since the service was started."""
        return costs_answer(self._costs.costs, self.published.view, by, most)

    @property
    def node_costs(self) -> Mapping[int, NodeCost]:
        """What each node has cost since the service was started."""
        return self._costs.costs

    def kind_costs(self) -> dict[str, NodeCost]:
        """What nodes have cost, by kind."""
        return kind_costs(self._costs.costs, self.published.view)

    def judge(self, entry: int, reports: Sequence[TaskReport]) -> Collection[str]:
        """Pause the queries of owners who had too much in an entry; of these nothing of it is delivered."""
        self._costs.add(reports, self.registrar.view.nodes)
        over = self._quota.judge(entry, reports, self.registrar.view)
        if over:
            self.changes.quarantine(over)
        return over

    def committed(self) -> None:
        sink = self.sink
        entry = self.deployment.journal.load(sink.totals.entry)
        self.samples.add(entry, self.registrar.view.declared.streams)
        self._sample_files.save(self.samples)
        self.deployment.versions.discard_before(entry.network)
        self._pushes.settle(self.registrar.view.declared.streams.values(), entry.intake.streams)
        self.recent.note(entry, sink.totals, sink.last_work)
        if self._traces is not None:
            self._traces.note(self.recent.batches[-1])
        self.recent_rows.note(entry, self.registrar.view.declared.streams)
        self._figures.advance()
        self._costs.publish()
        self.publisher.publish_figures(self._figures.take())
        self.follow_sinks()
        self._progress(sink)


def _with_waits(answer: QueryAnswer, streams: Iterable[StreamStatus]) -> QueryAnswer:
    if answer["state"] == "running":
        answer["waits_for"] = waits_for(answer["since"]["streams"].keys(), streams)
    return answer
