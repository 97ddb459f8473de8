"""A run: one script, compiled to a network and executed by a pipeline from first input to last result."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.plan import Query
from seine.algebra.serialise import relation_to_json, stream_to_json
from seine.errors import SeineError
from seine.frontends.script.script import Declarations, Script
from seine.graph.node import Holding
from seine.intake.alignment import NO_LEAD, Lead
from seine.intake.intake import Intake
from seine.intake.relations import load_relation
from seine.intake.retention_limit import RetentionLimit
from seine.intake.spark_feed import SourceBranch
from seine.lifecycle.edit import Outcome
from seine.lifecycle.pipeline import Pipeline
from seine.lifecycle.registrar import Registrar
from seine.lifecycle.view import View
from seine.network.network import Network, build_network
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.network.searches.schema_change import SchemaChange
from seine.operators.state.work_budget import WorkBudget
from seine.optimizer.estimates import Estimates
from seine.rare_collections import rare_collections
from seine.run_record import RunPolicy, RunRecord, read_live_record, refuse_histories, refuse_useless
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.kept_functions import KeptFunctions, keep_functions, registered_functions
from seine.runtime.folder.sampling import MOST_SAMPLED
from seine.runtime.folder.settings import new_settings
from seine.runtime.option_secrets import OptionSecrets
from seine.runtime.output.log_files import segment_path
from seine.runtime.output.outlets import Deliver, Folder
from seine.runtime.output.overwriting import refuse_overwriting, refuse_remote
from seine.runtime.output.query_figures import QueryFigures, RunStatistics
from seine.runtime.output.record_reader import Record, RecordReader
from seine.runtime.output.sink import Sink
from seine.runtime.source_samples import source_estimates
from seine.runtime.spark_reading import SparkReading
from seine.safety.verdict import refuse_unsafe
from seine.scratch_folder import scratch_folder
from seine.sinks.sink_checks import STARTS_OVER

if TYPE_CHECKING:  # a script without sinks need not wait for the clients of their targets
    from seine.sinks.sink_threads import RunSinks

_logger = logging.getLogger(__name__)
_MANY_QUERIES = 1_000  # from which on garbage collections are worth avoiding while they are placed


@dataclass(frozen=True)
class Options:
    """How to run: where results go, where state lives, how input is cut."""

    out: str | Folder | None = None
    dead_letter: str | None = None
    checkpoint: str | None = None
    batch_rows: int | None = None
    follow: bool = False
    buckets: int = 2
    memory: int | None = None  # tuples that all joins within a memory may hold together
    budget: WorkBudget | None = None  # what a node may spend in a task; None: the usual
    worker_memory: int = 0  # bytes that a worker process may have to itself; 0: as many as there are
    lead: Lead = NO_LEAD
    depth: int = 0  # 0: as deep as the script needs
    sharing: Strategy = CONFIGURATIONS["all"]
    options_file: str | None = None  # where the secrets of sources and sinks are
    sample: int = MOST_SAMPLED  # rows of each source that a plan is chosen by; 0: none
    estimates: Estimates | None = None  # instead of samples, if anybody has looked at the streams
    keep: RetentionLimit | None = None  # of the files of results and dead letters
    deliver: Callable[[Record], None] | None = None  # gets each record, instead of `out`
    to_sinks: bool = True  # whether sinks deliver; what only tries a script out leaves targets alone
    notice: Callable[[str], None] = field(default=lambda text: None)  # hears of truncated input
    progress: Callable[[Sink], None] = field(default=lambda sink: None)
    live: bool = False  # whether queries may come and go while it runs


class Run(Pipeline):
    """A script on its way through a pipeline, whichever host runs the tasks.

    Opening it refuses what cannot run: an unsafe query, a missing file, an unwritable output, a
    checkpoint of another script. `driver.drive` then feeds it to its end.
    """

    _sinks: RunSinks | None = None

    def __init__(self, script: Script, options: Options) -> None:
        many = len(script.declarations.queries) >= _MANY_QUERIES
        with rare_collections(many):
            self._open(script, options)

    def _open(self, script: Script, options: Options) -> None:
        self._options = options
        refuse_unsafe(script)
        refuse_histories(script.declarations.queries, script.positions)
        declarations = script.declarations
        secrets = OptionSecrets.read(options.options_file)
        to_sinks = bool(declarations.sinks) and options.to_sinks
        if to_sinks:
            _check_sinks(declarations, options, secrets)
        self.reading = _reading(declarations, options, secrets)
        out = options.out if isinstance(options.out, str) else None
        refuse_remote(options.checkpoint, "the checkpoint")
        refuse_remote(out, "the output")
        refuse_remote(options.dead_letter, "the file of dead letters")
        written = _written(out, options.dead_letter, options.keep)
        refuse_overwriting(written, declarations.paths)
        resumed = _resumed(declarations, options)
        network = resumed or _planned(script, options)
        self._temporary = None if options.checkpoint else _temporary()
        folder = options.checkpoint or self._temporary.name  # type: ignore[union-attr]
        super().__init__(Deployment(os.path.abspath(folder)), options.notice)
        if resumed is None:
            self._create(network, declarations, options)
        else:
            keep_functions(self.deployment.store)  # those of the program itself, as they are now
        record = RunRecord(self.deployment)
        standing = record.restore(declarations, network, to_sinks)
        self.records = RecordReader(lambda name: self.queries.get(name), self._table)
        self.deployment.allow(options.budget)
        self.deployment.hold_workers(options.worker_memory)
        self.deployment.recover()
        self.registrar = Registrar(
            self, standing, record, RunPolicy(self.deployment, secrets, written, to_sinks)
        )

        outputs = options.out or self._delivered(options.deliver), options.dead_letter
        log = self.deployment.result_log if to_sinks else None
        self.sink = Sink(self.deployment, *outputs, self.limits, log=log, keep=options.keep)
        self._refused_before = self.sink.totals.dead_letters
        self._figures = QueryFigures(self.network, standing.view.names)
        if to_sinks:
            self._deliver_to_sinks(secrets, options)
        self.begin(options.follow)
        _logger.info(
            "run opened",
            extra={
                "folder": self.deployment.folder,
                "version": self.network.version,
                "queries": len(self.network.queries),
                "nodes": len(self.network.nodes),
                "entry": self.sink.totals.entry,
            },
        )

    @property
    def holdings(self) -> Collection[Holding]:
        return self._figures.holdings

    def open_intake(self, follow: bool) -> Intake:
        options = self._options
        with self.registrar.still():
            view, last = self.registrar.view, self.deployment.journal.last()
            self.intake = Intake(
                list(view.declared.streams.values()),
                self.deployment.journal,
                self,
                batch_rows=options.batch_rows,
                follow=follow,
                fresh=view.fresh(last),
                notice=options.notice,
                lead=options.lead,
                refuse=not (follow and last is not None),
            )
        return self.intake

    # ---- what intake asks

    planned = None  # the streams that Spark reads stay

    @property
    def has_spark(self) -> bool:
        return bool(self.reading.streams)

    @property
    def paced(self) -> bool:
        return bool(self.reading.streams)

    # ---- what others ask and tell

    @property
    def network(self) -> Network:
        """The network of the next entry."""
        return self.registrar.network

    @property
    def queries(self) -> Mapping[str, Query]:
        """The queries, by lower-case name."""
        return self.registrar.view.declared.queries

    def _table(self, name: str) -> StreamDef | RelationDef | None:
        declared = self.registrar.view.declared
        return declared.streams.get(name) or declared.relations.get(name)

    def change(self, text: str, folder: str) -> Outcome:
        """Register and drop queries by a script, as of the next entry; refused whole, it leaves no trace."""
        if not self.network.live:
            raise SeineError("the queries of this run are those that it began with", hint="use a service")
        if self.driver.finished:
            raise SeineError("the input has ended: nothing more can come", hint="start another run")
        return self.registrar.register(text, file="<register>", folder=folder)

    def publish(self, view: View) -> None:
        self._figures = QueryFigures(self.network, view.names, self._figures.places)
        self.follow_sinks()

    def _create(self, network: Network, declarations: Declarations, options: Options) -> None:
        """Create the folder of the pipeline."""
        self.deployment.refuse_foreign()
        read = {name: load_relation(relation) for name, relation in declarations.relations.items()}
        relations = {name: batch for name, (batch, _) in read.items()}
        dead = [letter for _, letters in read.values() for letter in letters]
        self.deployment.versions.save(network, declarations.streams.values(), relations, dead)
        depth = max(options.depth, network.depth)
        cache = os.path.join(self._temporary.name, "cache") if self._temporary else None
        mark = _fingerprint(declarations, options.sharing)
        settings = new_settings(options.buckets, depth, mark, options.memory, options.budget, cache=cache)
        keep_functions(self.deployment.store)
        self.deployment.create(settings)

    def _deliver_to_sinks(self, secrets: OptionSecrets, options: Options) -> None:
        from seine.sinks.sink_threads import RunSinks, SinkThreads

        made = self.deployment
        self.threads = SinkThreads(made.store, made.undelivered, self.sink.index, secrets, options.keep)
        self._sinks = RunSinks(self.threads, options.notice, lasting=options.checkpoint is not None)

    def _delivered(self, deliver: Callable[[Record], None] | None) -> Deliver | None:
        """What gives each record to a function."""
        return None if deliver is None else lambda line: deliver(self.records.read(line))

    def withhold_gone(self, first: int, ceased: bool) -> None:
        if self.network.live:
            super().withhold_gone(first, ceased)

    def committed(self) -> None:
        sink = self.sink
        if self._options.dead_letter is None and not self._refused_before and sink.totals.dead_letters:
            self._refused_before = sink.totals.dead_letters
            self._options.notice(
                f"lines were refused and dropped, {self._refused_before} so far ({sink.last_refusal}); "
                "a dead-letter file would keep them"
            )
        self.follow_sinks()
        if self._sinks is not None:
            self._sinks.tell_trouble()
        self._options.progress(sink)

    def drain(self) -> None:
        """Wait until the sinks have delivered what is committed; when stopped, only for a moment."""
        if self._sinks is not None:
            self._sinks.finish(lambda: self.driver.stopped)

    def close(self) -> None:
        super().close()
        if self._temporary:
            self._temporary.cleanup()
        totals = self.sink.totals
        _logger.info(
            "run closed",
            extra={
                "batches": totals.batches,
                "input_rows": totals.input_rows,
                "output_rows": totals.output_rows,
                "dead_letters": totals.dead_letters,
            },
        )

    def statistics(self, elapsed: float) -> RunStatistics:
        """What the run has come to after so many seconds."""
        sinks = None if self._sinks is None else self._sinks.statistics()
        return self._figures.statistics(self.sink.totals, self.failures, elapsed, sinks)


def _written(out: str | None, dead: str | None, keep: RetentionLimit | None) -> list[str]:
    """The files that a run writes; if they are kept in segments, with a later one of each."""
    files = [path for path in (out, dead) if path is not None]
    return files if keep is None else [*files, *(segment_path(path, 1) for path in files)]


def _reading(declarations: Declarations, options: Options, secrets: OptionSecrets) -> SparkReading:
    """What Spark has to read; refuses what needs a secret that is nowhere."""
    streams = [stream for stream in declarations.streams.values() if stream.reader is not None]
    secrets.check(streams)
    branches = tuple(SourceBranch(stream.name) for stream in streams)
    return SparkReading(streams, secrets, options.batch_rows, branches)


def _planned(script: Script, options: Options) -> Network:
    """The network of a script, chosen by what its sources show."""
    declarations = script.declarations
    estimates = options.estimates or source_estimates(declarations.tables, options.sample)
    live = SchemaChange(declarations.streams, declarations.relations, declarations.edges)
    queries, live_schema = declarations.queries.values(), live if options.live else None
    return build_network(queries, options.sharing, estimates, script.positions, live_schema)


def _resumed(declarations: Declarations, options: Options) -> Network | None:
    """The network of a checkpoint that belongs to this script, as it was planned; None if there is none yet.

    It is not planned anew: files that have grown since would give other samples.
    """
    if options.checkpoint is None:
        return None
    deployment = Deployment(os.path.abspath(options.checkpoint))
    if not deployment.exists():
        return None
    deployment.bring_up_to_date()
    if deployment.settings.script != _fingerprint(declarations, options.sharing):
        raise SeineError(
            f"checkpoint '{deployment.folder}' belongs to another script",
            hint="use the script that made it, or name a new folder",
        )
    if deployment.settings.memory != options.memory:
        raise SeineError(
            f"checkpoint '{deployment.folder}' was made with another --memory",
            hint="give the one that it was made with, or name a new folder",
        )
    last, versions = deployment.journal.last(), deployment.versions
    record = read_live_record(deployment.registered)
    if record is not None:
        return versions.network(record.version, options.sharing)
    return versions.network(versions.first() if last is None else last.network, options.sharing)


def _temporary() -> tempfile.TemporaryDirectory[str]:
    """A folder for one run; Spark may still write to it when the run is over, and then some of it stays."""
    return tempfile.TemporaryDirectory(dir=scratch_folder(), prefix="run-", ignore_cleanup_errors=True)


def _fingerprint(declarations: Declarations, sharing: Strategy) -> str:
    """What must be equal for a checkpoint to fit: every declaration that gives it its meaning."""
    form: dict[str, Any] = {
        "streams": [stream_to_json(stream) for stream in declarations.streams.values()],
        "relations": [relation_to_json(relation) for relation in declarations.relations.values()],
        "queries": [[q.name, q.text, repr(q.options)] for q in declarations.queries.values()],
        "sharing": repr(sharing),
    }
    if declarations.sinks:
        form["sinks"] = [repr(sink) for sink in declarations.sinks.values()]
    if (functions := registered_functions()) != KeptFunctions():
        form["functions"] = repr(functions)
    return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()


def _check_sinks(declarations: Declarations, options: Options, secrets: OptionSecrets) -> None:
    """Refuse sinks that could never deliver."""
    for sink in declarations.sinks.values():
        refuse_useless(sink, declarations, secrets, options.checkpoint)
    if options.checkpoint is None:
        options.notice(f"without a checkpoint, {STARTS_OVER}")
