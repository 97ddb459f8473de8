"""What is registered in a run, in files of its pipeline, and what may come and go while it runs.

    registered.json   the scripts that were carried out since the start, with the births that they led to
    failures/         the queries that failed
    sink_identities/  who its sinks are, to their targets

A version of the network that `registered.json` does not name is written over by the next change. A failure is
in its file before that version is named; a process that finds a failed query in the network takes it out.
"""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from seine.algebra.definitions import SinkDef, StreamDef
from seine.algebra.plan import Query
from seine.catalog.tables.stored import QueryPosition, StoredSink
from seine.disk_sync import write_whole
from seine.errors import Position, SeineError
from seine.frontends.script.script import Declarations, Script
from seine.lifecycle.change_inputs import RelationsInUse, relations_of
from seine.lifecycle.edit import Asker, Edit, RegisteredScript
from seine.lifecycle.query_history import with_history
from seine.lifecycle.record import RecordedChange, Standing
from seine.lifecycle.view import RegisteredQuery, View, frozen
from seine.network.network import AddedQuery, Network
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.failures import read_failures, write_failures
from seine.runtime.folder.settings import read_record, read_register
from seine.runtime.option_secrets import OptionSecrets
from seine.runtime.output.overwriting import refuse_inside, refuse_overwriting
from seine.safety.verdict import read_statements
from seine.sinks.sink_checks import refuse_unfit
from seine.storage.log import Register
from seine.typed_json import write_json

if TYPE_CHECKING:
    from seine.catalog.index import Placement

_BEGINNING = QueryPosition(0, 0, {}, {})  # of queries that were there before the first entry
_SOMEWHERE = QueryPosition(0, 0, {})  # of queries that were registered before positions were kept

_IDENTITIES = "sink_identities"


class Birth(Struct, frozen=True):
    """From where on a query counts: an epoch, and what the streams had brought by then."""

    epoch: int
    position: QueryPosition


class SinkStart(Struct, frozen=True):
    """Who a sink is, to its target, and how long the results were when it came."""

    identity: str
    start: int


class LiveRecord(Struct, frozen=True):
    """What was registered after the start of a run, and the version and epoch that it has since.

    What is not in `births`, `since` and `sinks` has been there from the start. `since` has the first entry
    that can have tuples of a stream.
    """

    version: int
    epoch: int
    scripts: list[RegisteredScript]
    births: dict[str, Birth] = {}
    since: dict[str, int] = {}
    sinks: dict[str, SinkStart] = {}


class RunRecord:
    """Keeps what is registered in the folder of a run."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._record = read_live_record(deployment.registered)

    def restore(self, declared: Declarations, network: Network, to_sinks: bool) -> Standing:
        """What is registered in a run that was begun with these declarations, and has this network.

        Sinks begin with its first record.
        """
        deployment = self._deployment
        record = self._record or LiveRecord(network.version, 0, [])
        began, identities = declared.queries.keys(), _identities(deployment, declared.sinks, to_sinks)
        for script in record.scripts:
            declared = read_statements(script.text, "<register>", script.folder, declared).declarations
        first = dict.fromkeys(declared.queries, Birth(record.epoch, _SOMEWHERE))
        births = {**first, **dict.fromkeys(began, Birth(0, _BEGINNING)), **record.births}
        failures = {name.lower(): one for name, one in read_failures(deployment.store).items()}
        failures = {
            key: one
            for key, one in failures.items()
            if key in declared.queries and births[key].position.entry <= one.entry  # not of one before it
        }
        registered = {
            key: _registered(query, births[key], network, key in failures)
            for key, query in declared.queries.items()
        }
        view = View(
            declared,
            frozen(registered),
            network.version,
            frozen(network.nodes),
            network.next_id if network.live else 0,
            network.depth,
            record.epoch,
            frozen(record.since),
            frozen(failures),
            network.estimates,
            sinks=frozen(_standing(declared.sinks, {**identities, **record.sinks}) if to_sinks else {}),
        )
        running = (one.query for one in registered.values() if not one.paused)
        tuples = deployment.versions.relations(network.version) if declared.relations else {}
        uses = relations_of(running, declared) + Counter([*tuples])  # those of the start stay at hand
        return Standing(view, network, RelationsInUse(uses, tuples))

    def describe(self, query: Query, added: AddedQuery) -> list[Placement]:
        return []

    def enter(self, change: RecordedChange) -> None:
        edit, before, after = change.edit, change.before, change.after
        failures = before.failed | after.failed
        if edit.fail:
            write_failures(self._deployment.store, failures)
        record = self._record or LiveRecord(before.version, 0, [])
        scripts = [*record.scripts, *([] if edit.script is None else [edit.script])]
        births = {key: birth for key, birth in record.births.items() if key in after.registered}
        births |= _births(after, edit.come)
        sinks = {key: one for key, one in record.sinks.items() if key in after.sinks}
        for key, sink in after.sinks.items():
            if before.sinks.get(key) is not sink:
                sinks[key] = SinkStart(sink.identity, sink.start)
        self._write(LiveRecord(after.version, after.epoch, scripts, births, dict(after.since), sinks))
        if failures.keys() != after.failed.keys():
            write_failures(self._deployment.store, after.failed)

    def enter_moves(self, after: View, moved: Iterable[str]) -> None:
        record = self._record or LiveRecord(after.version, after.epoch, [])
        births = record.births | _births(after, moved)
        self._write(replace(record, version=after.version, births=births))

    def save_version(self, version: int) -> None:
        self._write(replace(self._record or LiveRecord(version, 0, []), version=version))

    def _write(self, record: LiveRecord) -> None:
        write_whole(self._deployment.registered, write_json(record))
        self._record = record


def read_live_record(path: str) -> LiveRecord | None:
    """What was registered after the start of a run; None if nothing was."""
    return read_record(path, LiveRecord) if os.path.exists(path) else None


def _registered(query: Query, birth: Birth, network: Network, failed: bool) -> RegisteredQuery:
    paused = failed and query.name not in network.queries
    return RegisteredQuery(query, birth.epoch, birth.position, paused, network.used_nodes(query.name))


def _births(view: View, keys: Iterable[str]) -> dict[str, Birth]:
    registered = {key: view.registered[key] for key in keys}
    return {key: Birth(one.birth_epoch, one.position) for key, one in registered.items()}


def _identities(deployment: Deployment, sinks: Iterable[str], noted: bool) -> dict[str, SinkStart]:
    """Who the sinks are that a run begins with; `noted` before any of them delivers."""
    register = Register(deployment.store, _IDENTITIES)
    if noted and register.read() is None:
        register.write(write_json({key: uuid.uuid4().hex for key in sinks}))
    identities = (read_register(deployment.store, _IDENTITIES, dict[str, str]) or {}) if noted else {}
    return {key: SinkStart(identity, 0) for key, identity in identities.items()}


def _standing(sinks: Mapping[str, SinkDef], known: Mapping[str, SinkStart]) -> dict[str, StoredSink]:
    return {key: StoredSink(sink, known[key].identity, known[key].start) for key, sink in sinks.items()}


class Everybody:
    """Whoever has the program of a run: all may change it."""

    name = "local"

    def refuse(self, edit: Edit, view: View) -> None:
        return None


@dataclass(frozen=True)
class RunPolicy:
    """What may come and go while a run goes on: all but what its host has opened for it.

    No stream may be read from what the run has `written`. Without `keeps_results` there is nothing that a
    sink could read.
    """

    deployment: Deployment
    secrets: OptionSecrets
    written: Sequence[str]
    keeps_results: bool
    local = Everybody()

    def read(self, script: RegisteredScript, file: str, known: Declarations) -> Script:
        return read_statements(script.text, file, script.folder, known, replace=script.replace)

    def refuse(self, edit: Edit, view: View, by: Asker) -> None:
        if edit.moves_spark_streams(view) or any(
            edit.declared.streams[name].reader is not None for name in edit.altered
        ):
            raise SeineError(
                "streams that Spark reads stay as they are while a run goes on: it has opened them",
                hint="declare them before the start, or use a service",
            )
        refuse_histories(edit.come, edit.positions)

    def refuse_stream(self, stream: StreamDef) -> None:
        if stream.source is not None:
            refuse_overwriting(self.written, [stream.source.path])
            refuse_inside(self.deployment.folder, stream.source.path)

    def refuse_sink(self, sink: SinkDef, declared: Declarations) -> None:
        if not self.keeps_results:
            raise SeineError(
                f"sink {sink.name}: this run began without sinks, and keeps no results for them",
                hint="declare a sink before the start, or use a service",
            )
        refuse_useless(sink, declared, self.secrets, self.deployment.folder)

    def refuse_network(self, edit: Edit, view: View, network: Network) -> None:
        """Refuse more stages where Spark reads DataFrames or topics: it would have to open them anew."""
        stages, streams = self.deployment.settings.depth, edit.declared.streams.values()
        if network.depth <= stages or all(stream.reader is None for stream in streams):
            return
        for key, query in edit.come.items():
            depth = max((node.stage for node in network.beneath(query.name)), default=0)
            if depth > stages:
                raise SeineError(
                    f"query {query.name} needs {depth} stages above one another, "
                    f"and the pipeline has {stages}",
                    hint=f"start it with depth={depth}",
                    where=edit.positions.get(key),
                )


def refuse_histories(queries: Mapping[str, Query], positions: Mapping[str, Position]) -> None:
    """A run retains no input that is done: a query is fed from its registration on, or from the beginning."""
    for key, query in with_history(queries).items():
        raise SeineError(
            f"query {query.name}: history is for a query of a service",
            hint="leave it out: a query of a script is fed from the beginning, a later one from now on",
            where=positions.get(key),
        )


def refuse_useless(sink: SinkDef, declared: Declarations, secrets: OptionSecrets, folder: str | None) -> None:
    """Refuse a sink that could never deliver, or would deliver into the folder of the run."""
    refuse_unfit(sink, declared)
    secrets.values(f"sink {sink.name}", sink.options)
    if sink.kind == "folder" and folder is not None:
        refuse_inside(folder, sink.target)
