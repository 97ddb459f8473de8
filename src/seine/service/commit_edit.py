"""Writes a change to the catalog: one transaction, the moment at which the change is true.

The nodes that run, as rows of the catalog: what computes what from what, and for whom.

    SELECT n.id, n.kind, COUNT(*) AS queries FROM seine_node n JOIN seine_node_user u ON u.node_id = n.id
    GROUP BY n.id, n.kind ORDER BY queries DESC

Kind, inputs and keys of a node never change, so a row is written when a node comes and deleted when it goes;
what it asks of its inputs grows and shrinks with its queries.

Cites: ARGUS 5.1.4 (DPredSet, SVOA, JVOA), 5.1.5 (relational model)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from seine.catalog import Catalog, CatalogChange, StoredNode, StoredQuery
from seine.catalog.index import Placement
from seine.graph.claims import claimed_nodes
from seine.graph.node import Node
from seine.graph.snapshot import NetworkChange
from seine.service.edit import PENDING, Edit
from seine.service.published_view import ServiceView


def enter(
    catalog: Catalog,
    edit: Edit,
    before: ServiceView,
    after: ServiceView,
    begun: Sequence[Placement] = (),
    network: NetworkChange | None = None,
    lines: Sequence[str] = (),
) -> None:
    """Record all of an edit, what it made of the network, and from when on; or nothing.

    `lines` are what the audit log will have of it, if somebody asked for it.

    The computation index has what runs: those that cease leave it, those that begin enter it; nodes likewise.
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
            enter_nodes(change, after.version, network or NetworkChange(), before.nodes, after.nodes)


def enter_moves(
    catalog: Catalog,
    before: ServiceView,
    after: ServiceView,
    moved: Iterable[str],
    network: NetworkChange,
) -> None:
    """Record the births with which queries go on, by key, and what that made of the network."""
    with catalog.change() as change:
        for now in map(after.registered.__getitem__, moved):
            change.move_query(now.query.name, now.birth_epoch, now.position)
        enter_nodes(change, after.version, network, before.nodes, after.nodes)


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


Nodes = Mapping[int, Node]


def enter_nodes(
    catalog: CatalogChange, version: int, change: NetworkChange, before: Nodes, after: Nodes
) -> None:
    """Record a network version: nodes that came and went, what those that stay ask now, and who uses them."""
    new = [after[i] for i in change.nodes if i in after and i not in before]
    gone = [i for i in change.nodes if i in before and i not in after]
    stored = [_stored(node, after) for node in new]
    catalog.save_version(version, added=stored, removed=gone)
    stay = [after[i] for i in change.nodes if i in after and i in before]
    catalog.set_predicates({node.id: _predicates(node) for node in stay})
    catalog.set_uses({name: claimed_nodes(claims or ()) for name, claims in change.queries.items()})


def _stored(node: Node, nodes: Nodes) -> StoredNode:
    ancestor = selection_ancestor(node, nodes)
    return StoredNode(
        node.id,
        node.kind,
        node.stage,
        node.inputs,
        {
            "kind": node.kind,
            "streams": node.streams,
            "inputs": node.inputs,
            "keys": [[str(key) for key in port.key] for port in node.ports],
            "stateful": node.stateful,
            "join": node.is_join,
        },
        _predicates(node),
        ancestor.id,
        tuple(selection_ancestor(nodes[i], nodes).id for i in ancestor.inputs),
    )


def selection_ancestor(node: Node, nodes: Nodes) -> Node:
    """The SVOA: the closest ancestor that is no selection, the node itself if it is none."""
    while not (node.is_leaf or node.is_join or node.stateful) and len(node.inputs) == 1:
        node = nodes[node.inputs[0]]
    return node


def _predicates(node: Node) -> tuple[str, ...]:
    """The DPredSet: the shapes of its conditions over the rows of its inputs."""
    return tuple("TRUE" if part.shape is None else str(part.shape) for part in node.conditions)
