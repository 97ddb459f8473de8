"""What a service has registered, in its catalog: a change is one transaction, at which it is true."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from seine.algebra.definitions import ViewDef
from seine.algebra.plan import Query
from seine.algebra.search_plan import SchemaGraphs
from seine.algebra.serialise import plan_from_json
from seine.catalog.catalog import Catalog
from seine.catalog.catalog_change import CatalogChange
from seine.catalog.catalog_view import CatalogView
from seine.catalog.index import Placement
from seine.catalog.tables.stored import QueryPosition, StoredQuery
from seine.errors import RunError
from seine.frontends.script.script import Declarations
from seine.lifecycle.change_inputs import RelationsInUse, relations_of
from seine.lifecycle.edit import Edit
from seine.lifecycle.record import RecordedChange, Standing
from seine.lifecycle.view import RegisteredQuery, View, frozen
from seine.network.network import AddedQuery, Network
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.failures import Failure
from seine.runtime.history_replay import HistoryStart
from seine.service.access.allow_list import confine
from seine.service.indexing import placements
from seine.typed_json import typed_value

PENDING = "audit"  # the setting of the catalog that has the lines of the last change


class CatalogRecord:
    """Keeps what is registered in a catalog, with the computation index of what runs."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def describe(self, query: Query, added: AddedQuery) -> list[Placement]:
        """What a query enters into the index."""
        return placements(query.name, added.plan, added.blocks)

    def enter(self, change: RecordedChange) -> None:
        """Record all of a change, its network version, from when on, and what the audit log will have
        of it; then append that to the log.
        """
        notes, facts = change.edit.notes, change.outcome.facts
        lines = [note.line(**facts) for note in notes]
        owed = notes[0].owed() if notes else []
        enter(self._catalog, change, [*owed, *lines])
        for note, line in zip(notes, lines, strict=True):
            note.append(line)

    def enter_moves(self, after: View, moved: Iterable[str]) -> None:
        """Record the births with which queries go on, by key, and the network version that this made."""
        with self._catalog.change() as change:
            for now in map(after.registered.__getitem__, moved):
                change.move_query(now.query.name, now.birth_epoch, now.position)
            change.save_version(after.version)

    def save_version(self, version: int) -> None:
        """Name another version of the network, in which nothing but relations has changed."""
        with self._catalog.change() as change:
            change.save_version(version)


def enter(catalog: Catalog, recorded: RecordedChange, lines: Sequence[str] = ()) -> None:
    """Record all of a change or nothing; `lines` are what the audit log will have of it, if anything.

    The computation index has what runs: those that cease leave it, those that begin enter it.
    """
    edit, before, after = recorded.edit, recorded.before, recorded.after
    begun = [one for placed in recorded.outcome.computes.values() for one in placed]
    with catalog.change() as change:
        change.leave([query.name for query in edit.cease(before).values()])
        _drop(change, edit, before, after)
        _add(change, edit, before, after)
        for key in sorted(edit.pause | edit.fail.keys()):
            change.pause_query(before.registered[key].query.name)
        for key in edit.resume:
            now = after.registered[key]
            change.resume_query(now.query.name, now.birth_epoch, now.position)
        change.enter(begun)
        if lines:
            change.set(PENDING, list(lines))
        if after.epoch != before.epoch:
            change.set("epoch", after.epoch)
        if after.failures != before.failures:
            change.set("failures", {key: to_builtins(one) for key, one in after.failures.items()})
        if after.histories != before.histories:
            change.set("histories", {key: to_builtins(one) for key, one in after.histories.items()})
        if after.declared.views != before.declared.views:
            change.set("views", {key: to_builtins(one) for key, one in after.declared.views.items()})
        if after.since != before.since:
            change.set("since", dict(after.since))
        if after.version != before.version:
            change.save_version(after.version)


def _drop(change: CatalogChange, edit: Edit, before: View, after: View) -> None:
    for key in _new(after.sinks, before.sinks):
        change.drop_sink(before.sinks[key].definition.name)
    for key in sorted(edit.go):
        change.drop_query(before.registered[key].query.name)
    for edge in before.declared.edges:
        if edge not in after.declared.edges:
            change.drop_edge(edge)
    for name in edit.streams(before)[1]:
        change.drop_stream(name)
    for name in _new(after.declared.relations, before.declared.relations):
        change.drop_relation(name)


def _add(change: CatalogChange, edit: Edit, before: View, after: View) -> None:
    for stream in edit.streams(before)[0]:
        change.add_stream(stream)
    for name in sorted(edit.altered):
        change.add_columns(before.declared.streams[name], after.declared.streams[name])
    for name in _new(before.declared.relations, after.declared.relations):
        change.add_relation(after.declared.relations[name])
    for edge in after.declared.edges:
        if edge not in before.declared.edges:
            change.add_edge(edge)
    come = [after.registered[key] for key in edit.come]
    change.add_queries([StoredQuery.of(one.query, one.birth_epoch, one.position, one.owner) for one in come])
    for key in _new(before.sinks, after.sinks):
        change.add_sink(after.sinks[key])


def _new(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterable[str]:
    """The names whose declarations are in `after` and not in `before`."""
    return [name for name, one in after.items() if before.get(name) is not one]


def restore(
    catalog: CatalogView,
    deployment: Deployment,
    roots: tuple[str, ...],
    strategy: Strategy = CONFIGURATIONS["all"],
) -> Standing:
    """What a catalog says is registered; the network is the version that it names.

    Files are read within `roots` alone.
    """
    version, last = catalog.version(), deployment.journal.last()
    if last is not None and last.network > version:
        raise RunError(
            f"the catalog is older than the pipeline: it knows version {version} of the network, "
            f"entry {last.number} was cut for version {last.network}",
            hint="put the catalog back that belongs to this folder",
        )
    network = deployment.versions.network(version, strategy)
    declared = Declarations(catalog.streams(), catalog.relations(), catalog.edges())
    confine(declared, Declarations(), roots)
    graphs = SchemaGraphs(declared.tables, declared.edges)
    registered = {query.name.lower(): _registered(query, network, graphs) for query in catalog.queries()}
    for key, one in registered.items():
        declared.add_query(key, one.query)
    declared.views.update(typed_value(catalog.setting("views", {}), dict[str, ViewDef]))
    sinks = {one.definition.name.lower(): one for one in catalog.sinks()}
    declared.sinks.update((key, one.definition) for key, one in sinks.items())
    view = View(
        declared,
        frozen(registered),
        version,
        frozen(network.nodes),
        network.next_id,
        network.depth,
        catalog.setting("epoch", 0),
        frozen(catalog.setting("since", {})),
        frozen(typed_value(catalog.setting("failures", {}), dict[str, Failure])),
        histories=frozen(typed_value(catalog.setting("histories", {}), dict[str, HistoryStart])),
        sinks=frozen(sinks),
    )
    running = (one.query for one in registered.values() if not one.paused)
    relations = RelationsInUse(relations_of(running, declared), deployment.versions.relations(version))
    return Standing(view, network, relations)


def _registered(stored: StoredQuery, network: Network, graphs: SchemaGraphs) -> RegisteredQuery:
    options = tuple(stored.options.items())
    query = Query(stored.name, plan_from_json(stored.plan, graphs), options, stored.text)
    nodes = network.used_nodes(stored.name)
    position = stored.position or QueryPosition(0, 0, {})
    return RegisteredQuery(query, stored.birth_epoch, position, stored.paused, nodes, stored.owner)
