"""A change of what is registered, worked out before anything is touched, and what came of it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from msgspec import Struct

from seine.algebra.definitions import RelationDef, SinkDef, StreamDef
from seine.algebra.document_plan import publication
from seine.algebra.plan import Query, tables_of
from seine.algebra.search_plan import SchemaGraphs, Search
from seine.catalog.tables.stored import StoredSink
from seine.errors import Position, TakenError
from seine.frontends.script.script import Declarations, Script
from seine.lifecycle.view import RegisteredQuery, View, frozen
from seine.runtime.folder.failures import Failure
from seine.runtime.history_replay import HistoryStart

if TYPE_CHECKING:
    from seine.catalog.index import Placement

Computed: TypeAlias = "Mapping[str, list[Placement]]"  # by query, what it computes


@dataclass(frozen=True)
class Edit:
    """What is declared afterwards, and which queries come, go, begin to run and cease to, by key.

    A query that is replaced goes and comes; one that is paused or fails ceases and does not go.
    """

    declared: Declarations
    come: Mapping[str, Query] = field(default_factory=dict)
    go: frozenset[str] = frozenset()
    pause: frozenset[str] = frozenset()
    resume: frozenset[str] = frozenset()
    fail: Mapping[str, Failure] = field(default_factory=dict)
    positions: Mapping[str, Position] = field(default_factory=dict)
    altered: frozenset[str] = frozenset()  # streams that get a column more, and go on
    script: RegisteredScript | None = None  # that asks for it
    by: str | None = None  # who asked for it
    notes: tuple[AuditNote, ...] = ()  # what the audit log will have of it

    def owner(self, view: View, key: str) -> str | None:
        """Whose a query that begins is: what takes the place of another keeps its owner."""
        before = view.registered.get(key)
        return self.by if before is None else before.owner

    def begin(self, view: View) -> dict[str, Query]:
        """The queries that begin to run; a search that is resumed is over what is declared now."""
        resumed = {key: self._rebound(view.registered[key].query) for key in sorted(self.resume)}
        return {**self.come, **resumed}

    def _rebound(self, query: Query) -> Query:
        if not isinstance(query.plan, Search):
            return query
        graphs = SchemaGraphs(self.declared.tables, self.declared.edges)
        return replace(query, plan=graphs.rebound(query.plan))

    def cease(self, view: View) -> dict[str, Query]:
        """The queries that run and will not."""
        ending = [
            key for key in sorted(self.go | self.pause | self.fail.keys()) if not view.registered[key].paused
        ]
        return {key: view.registered[key].query for key in ending}

    def registered(
        self, view: View, begun: Mapping[str, RegisteredQuery]
    ) -> MappingProxyType[str, RegisteredQuery]:
        """What is registered afterwards, in the order of registration."""
        registered = view.registered.copy()  # the one thing here that depends on how many there are
        for key in self.go:
            del registered[key]
        for key in self.pause | self.fail.keys():
            registered[key] = replace(registered[key], paused=True, nodes=())
        registered.update(begun)
        return MappingProxyType(registered)

    def failures(self, view: View) -> MappingProxyType[str, Failure]:
        """The queries that are in quarantine afterwards, and why."""
        kept = {key: one for key, one in view.failures.items() if key not in self.go | self.resume}
        return MappingProxyType({**kept, **self.fail})

    def histories(self, view: View, begun: Mapping[str, HistoryStart]) -> MappingProxyType[str, HistoryStart]:
        """What queries that run afterwards began with; one that is resumed begins anew, without history."""
        ended = self.go | self.pause | self.fail.keys() | self.resume
        kept = {key: one for key, one in view.histories.items() if key not in ended}
        return MappingProxyType({**kept, **begun})

    def relations(self, view: View) -> list[RelationDef]:
        """The relations that are new."""
        before, after = view.declared.relations, self.declared.relations
        return [relation for name, relation in after.items() if before.get(name) is not relation]

    def forgotten(self, view: View) -> set[str]:
        """The tables that are declared no more, or otherwise than before."""
        relations = view.declared.relations.items()
        gone = {name for name, one in relations if self.declared.relations.get(name) is not one}
        return gone | {*self.streams(view)[1]}

    def changes_schema(self, view: View) -> bool:
        """Whether tables or edges are others."""
        joining, leaving = self.streams(view)
        relations = self.declared.relations != view.declared.relations or bool(self.relations(view))
        return bool(joining or leaving) or relations or self.declared.edges != view.declared.edges

    def drops_edges(self, view: View) -> bool:
        return not {*view.declared.edges} <= {*self.declared.edges}

    def joined_relations(self) -> list[str]:
        """The relations that are declared afterwards and that an edge joins."""
        joined = {end for edge in self.declared.edges for end in (edge.left, edge.right)}
        return [name for name in self.declared.relations if name in joined]

    def streams(self, view: View) -> tuple[list[StreamDef], list[str]]:
        """The streams that join and the names of those that leave; one may do both."""
        before, after = view.declared.streams, self.declared.streams
        coming = [name for name, stream in after.items() if before.get(name) is not stream]
        leaving = [name for name, stream in before.items() if after.get(name) is not stream]
        joining = [after[name] for name in coming if name not in self.altered]
        return joining, [name for name in leaving if name not in self.altered]

    def moves_spark_streams(self, view: View) -> bool:
        """Whether streams that Spark reads come or go."""
        joining, leaving = self.streams(view)
        gone = [view.declared.streams[name] for name in leaving]
        return any(stream.reader is not None for stream in [*joining, *gone])

    def sinks(
        self, view: View, start: int, refuse: Callable[[SinkDef, Declarations], None]
    ) -> MappingProxyType[str, StoredSink]:
        """The sinks that stand afterwards: those that come get an identity, and begin at `start`."""
        declared, before = self.declared, view.declared.sinks
        renewed = [one for key, one in declared.sinks.items() if before.get(key) is not one]
        if declared.sinks == before and not renewed:
            return view.sinks
        for sink in renewed:  # they come, or were dropped and created again, perhaps with the same words
            refuse(sink, declared)
        return frozen({key: _standing(key, one, view, start) for key, one in declared.sinks.items()})

    def changed_declarations(self, view: View) -> Iterator[str]:
        """The streams, relations, views, joins and sinks that it makes or ends, in words."""
        before, after = view.declared, self.declared
        for word, old, new in (
            ("stream", before.streams, after.streams),
            ("relation", before.relations, after.relations),
            ("view", before.views, after.views),
            ("sink", before.sinks, after.sinks),
        ):
            for name in dict.fromkeys([*old, *new]):
                if old.get(name) is not new.get(name):
                    yield f"{word} {name}"
        for edge in {*before.edges} ^ {*after.edges}:
            yield f"join {edge.left}, {edge.right}"


def _standing(key: str, sink: SinkDef, view: View, start: int) -> StoredSink:
    before = view.sinks.get(key)
    if before is not None and before.definition is sink:
        return before
    return StoredSink(sink, uuid.uuid4().hex, start)


def edit_of_script(script: Script, registered: RegisteredScript | None = None) -> Edit:
    queries = script.declarations.queries
    return Edit(
        script.declarations,
        come={key: queries[key] for key in script.positions},
        go=frozenset(script.dropped),
        positions=script.positions,
        altered=script.altered,
        script=registered,
    )


def edit_of_drop(view: View, key: str) -> Edit:
    _refuse_if_read(view, key, "drop")
    _refuse_if_delivered(view, key)
    declared = view.declared.copy()
    declared.remove_query(key)
    return Edit(declared, go=frozenset([key]))


def edit_of_pause(view: View, key: str) -> Edit:
    _refuse_if_read(view, key, "pause")
    return Edit(view.declared, pause=frozenset([key]))


def edit_of_failures(view: View, failures: Mapping[str, Failure]) -> Edit:
    return Edit(view.declared, fail=failures)


def edit_of_resume(view: View, key: str) -> Edit:
    return Edit(view.declared, resume=frozenset([key]))


def _refuse_if_read(view: View, key: str, what: str) -> None:
    """Refuse to take out a query whose published stream others read."""
    query = view.registered[key].query
    stream = publication(query)
    if stream is None:
        return
    readers = [one.query.name for one in view.registered.values() if stream.name in tables_of(one.query)]
    if readers:
        message = f"query {query.name} publishes stream {stream.name}, which query {readers[0]} reads"
        raise TakenError(message, hint=f"{what} {readers[0]} first")


def _refuse_if_delivered(view: View, key: str) -> None:
    """Refuse to drop a query that a sink reads."""
    query = view.registered[key].query.name
    reader = next((one for one in view.declared.sinks.values() if query in one.queries), None)
    if reader is not None:
        raise TakenError(f"sink {reader.name} reads query {query}", hint=f"DROP SINK {reader.name} first")


class RegisteredScript(Struct, frozen=True):
    """A script that was carried out, and the folder that its paths are relative to."""

    text: str
    folder: str
    replace: bool = False


class Asker(Protocol):
    """Whoever asks for a change."""

    @property
    def name(self) -> str: ...

    def refuse(self, edit: Edit, view: View) -> None:
        """Refuse an edit that this one may not make."""


@dataclass(frozen=True)
class AuditNote:
    """`line` makes the line of a change of what it did, and `append` brings it to the log.

    `owed` are lines of earlier changes that the log has no room for yet.
    """

    line: Callable[..., str]
    append: Callable[[str], None]
    owed: Callable[[], list[str]]


Notes: TypeAlias = Sequence[AuditNote]  # what the audit log will have of a change


@dataclass(frozen=True)
class Outcome:
    """What a change did: from `entry` on, `version` of the network runs.

    `computes` is what the queries that begin compute. `declared` are the streams, relations, views, joins
    and sinks that came or went.
    """

    version: int
    entry: int
    registered: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    computes: Computed = field(default_factory=dict)
    declared: tuple[str, ...] = ()

    @property
    def facts(self) -> dict[str, Any]:
        """What the audit log has of it."""
        return {
            "version": self.version,
            "entry": self.entry,
            "registered": list(self.registered),
            "dropped": list(self.dropped),
            "declared": list(self.declared),
        }
