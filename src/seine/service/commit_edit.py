"""Writes a change to the catalog: one transaction, the moment at which the change is true."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from seine.catalog import Catalog, CatalogChange, StoredQuery
from seine.catalog.index import Placement
from seine.service.edit import PENDING, Edit
from seine.service.published_view import ServiceView


def enter(
    catalog: Catalog,
    edit: Edit,
    before: ServiceView,
    after: ServiceView,
    begun: Sequence[Placement] = (),
    lines: Sequence[str] = (),
) -> None:
    """Record all of an edit, the network version that it made, and from when on; or nothing.

    `lines` are what the audit log will have of it, if somebody asked for it.

    The computation index has what runs: those that cease leave it, those that begin enter it.
    """
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


def enter_moves(catalog: Catalog, after: ServiceView, moved: Iterable[str]) -> None:
    """Record the births with which queries go on, by key, and the network version that this made."""
    with catalog.change() as change:
        for now in map(after.registered.__getitem__, moved):
            change.move_query(now.query.name, now.birth_epoch, now.position)
        change.save_version(after.version)


def _drop(change: CatalogChange, edit: Edit, before: ServiceView, after: ServiceView) -> None:
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


def _add(change: CatalogChange, edit: Edit, before: ServiceView, after: ServiceView) -> None:
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
