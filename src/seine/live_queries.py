"""Queries that come and go while a run goes on, as they do in a service.

Law: a change takes effect with one journal entry. The entry before it has the old network version and the old
epoch, the entry after it the new ones; a query counts tuples of the epoch of its registration and later.

The order of what becomes durable makes a crash harmless: first the files of the new version, which nobody
reads, then the record that names it, `registered.json`; only then can an entry ask for it. A version that no
record names is written over by the next change.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from threading import Lock, RLock

import pyarrow as pa
from msgspec import Struct

from seine.algebra.plan import Query
from seine.disk_sync import write_whole
from seine.errors import SeineError
from seine.frontends.script.script import Declarations, Script
from seine.network.network import Network
from seine.network.plan.output_form import limit_of
from seine.network.searches.schema_change import SchemaChange
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.settings import read_record
from seine.safety.verdict import read_statements
from seine.typed_json import write_json


class RegisteredScript(Struct, frozen=True):
    """A script that was carried out, and the folder that its paths are relative to."""

    text: str
    folder: str


class LiveRecord(Struct, frozen=True):
    """What was registered after the start of a run, and the version and epoch that it has since."""

    version: int
    epoch: int
    scripts: list[RegisteredScript]


@dataclass(frozen=True)
class QueryChange:
    """What a change did: from `entry` on, `version` of the network runs."""

    version: int
    entry: int
    registered: tuple[str, ...]
    dropped: tuple[str, ...]


class LiveQueries:
    """The queries of a run, which change. Any thread may change them; one change at a time.

    `turn` is held by whoever cuts an entry, and here while a change is made.
    """

    def __init__(self, deployment: Deployment, declared: Declarations, network: Network) -> None:
        """The run was begun with `declared`; the `network` has what was registered since, too."""
        self._deployment = deployment
        self._path = deployment.registered
        record = read_live_record(self._path) or LiveRecord(network.version, 0, [])
        self._record = record
        self.network = network
        self.declared = _replayed(declared, record)
        self.turn = RLock()
        self._one_at_a_time = Lock()

    @property
    def version(self) -> int:
        """The version that the next entry asks for."""
        return self._record.version

    @property
    def epoch(self) -> int:
        """The epoch of the next entry."""
        return self._record.epoch

    def change(
        self, text: str, folder: str, failed: frozenset[str], hear: Callable[[int, Script], None]
    ) -> QueryChange:
        """Carry out a script of queries, all of it or nothing. Names of queries that `failed` stay theirs.

        `hear` is told from which entry on it counts, before that entry can be.
        """
        with self._one_at_a_time:
            script = read_statements(text, "<register>", folder, self.declared)
            self._refuse(script, failed)
            with self.turn, ExitStack() as undo:
                undo.callback(self._restore_network)
                epoch = self._birth_epoch()
                self._change_network(script, epoch)
                self._write_version()
                scripts = [*self._record.scripts, RegisteredScript(text, folder)]
                record = LiveRecord(self.network.version, epoch, scripts)
                write_whole(self._path, write_json(record))
                undo.pop_all()
                entry = self.next_entry
                hear(entry, script)
                self._record, self.declared = record, script.declarations
        registered = tuple(query.name for query, _ in script.queries)
        dropped = tuple(query.name for query in script.dropped.values())
        return QueryChange(record.version, entry, registered, dropped)

    def _refuse(self, script: Script, failed: frozenset[str]) -> None:
        """Refuse what a run cannot do while it goes on."""
        before, after = self.declared, script.declarations
        if any(
            getattr(before, kind) != getattr(after, kind)
            for kind in ("streams", "relations", "edges", "sinks")
        ):
            raise SeineError(
                "after the start only queries and views come and go",
                hint="declare streams, relations, joins and sinks first, or use a service",
            )
        if any(relation.followed for relation in before.relations.values()):
            raise SeineError(
                "queries cannot come and go in a run with a relation that is followed", hint="use a service"
            )
        for query, position in script.queries:
            if query.option("history") is not None:
                message = f"query {query.name}: history is for a query of a service"
                raise SeineError(message, hint="leave it out", where=position)
            if query.name in failed:
                message = f"there was a query {query.name} that failed in this run"
                raise SeineError(message, hint="choose another name", where=position)

    def _change_network(self, script: Script, epoch: int) -> None:
        network = self.network
        network.stages = stages = self._deployment.settings.depth
        for query in script.dropped.values():
            network.remove(query.name)
        for query, position in script.queries:
            try:
                network.add(query, epoch)
                if network.depth > stages:
                    raise _too_deep(query, network.depth, stages)
            except SeineError as error:
                error.where = error.where or position
                raise
        if any(query.plan.follows_schema for query, _ in script.queries):
            network.follow_schema(self._schema(epoch))

    def _schema(self, epoch: int) -> SchemaChange:
        declared, last = self.declared, self._deployment.journal.last()
        schema = declared.streams, declared.relations, declared.edges, epoch
        if last is None:
            return SchemaChange(*schema)
        progress = {stream: last.clock.progress([stream]) for stream in last.clock.watermarks}
        return SchemaChange(*schema, max(last.clock.now.values(), default=0), progress)

    def _write_version(self) -> None:
        change = self.network.take_change()
        if change is not None:
            streams = self.declared.streams.values()
            self._deployment.versions.extend(self.network, change, streams, self._relations)

    @cached_property
    def _relations(self) -> Mapping[str, pa.RecordBatch]:
        """The tuples of all relations, which do not change here."""
        return self._deployment.versions.relations(self._record.version)

    def _restore_network(self) -> None:
        """The network as it was, from its files."""
        if self.network.version != self._record.version or self.network.changed:
            strategy, estimates = self.network.strategy, self.network.estimates
            self.network = self._deployment.versions.network(self._record.version, strategy)
            self.network.estimates = estimates

    def _birth_epoch(self) -> int:
        """An epoch that no entry has yet."""
        last = self._deployment.journal.last()
        return self.epoch + (0 if last is None or last.epoch < self.epoch else 1)

    @property
    def next_entry(self) -> int:
        """The number of the next entry."""
        last = self._deployment.journal.last()
        return 0 if last is None else last.number + 1


def read_live_record(path: str) -> LiveRecord | None:
    """What was registered after the start of a run; None if nothing was."""
    return read_record(path, LiveRecord) if os.path.exists(path) else None


def limits_of(script: Script) -> dict[str, int]:
    """How many records the queries of a script may deliver."""
    return {query.name: limit_of(query) for query, _ in script.queries}


def _replayed(declared: Declarations, record: LiveRecord) -> Declarations:
    for script in record.scripts:
        declared = read_statements(script.text, "<register>", script.folder, declared).declarations
    return declared


def _too_deep(query: Query, depth: int, stages: int) -> SeineError:
    return SeineError(
        f"query {query.name} needs {depth} stages above one another, and the pipeline has {stages}",
        hint=f"start it with depth={depth}",
    )
