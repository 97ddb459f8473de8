"""The nodes that run, as rows of the catalog: what computes what from what, and for whom.

    SELECT n.id, n.kind, COUNT(*) AS queries FROM seine_node n JOIN seine_node_user u ON u.node_id = n.id
    GROUP BY n.id, n.kind ORDER BY queries DESC

Law: the rows are those of one network version, which stands beside them; each transaction brings them to the
newest. A change does not wait for its rows: it is true before. Rows of an older version, which a crash may
leave, are brought up when the service starts.

Kind, inputs and keys of a node never change, so a row is written when a node comes and deleted when it goes;
what it asks of its inputs grows and shrinks with its queries.

Cites: ARGUS 5.1.4 (DPredSet, SVOA, JVOA), 5.1.5 (relational model)
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from threading import Event, Thread
from typing import Any

from seine.backoff import Backoff
from seine.catalog.catalog import Catalog
from seine.catalog.catalog_change import NODES
from seine.catalog.tables.stored import StoredNode
from seine.errors import SeineError
from seine.graph.node import Node
from seine.lifecycle.view import View

_logger = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0  # after a change; what comes meanwhile is written with it

_MOST_SECONDS_UNWRITTEN = 60.0  # before they are tried again that could not be written

Nodes = Mapping[int, Node]


class NodeRows:
    """Writes the rows on a thread of its own, from the views that it is shown; any thread may show them."""

    def __init__(self, catalog: Catalog, view: View) -> None:
        self._catalog, self._newest, self._written = catalog, view, view
        self._changed, self._ended = Event(), Event()
        self._changed.set()
        self._thread = Thread(target=self._follow, name="seine node rows", daemon=True)
        self._thread.start()

    def show(self, view: View) -> None:
        """There is a view, perhaps a newer one."""
        if view is not self._newest:
            self._newest = view
            self._changed.set()

    def close(self) -> None:
        """Write what is left, and end."""
        self._ended.set()
        self._changed.set()
        self._thread.join()

    def _follow(self) -> None:
        ended, backoff = False, Backoff(PAUSE_SECONDS, _MOST_SECONDS_UNWRITTEN)
        while not ended:
            self._changed.wait()
            self._changed.clear()  # before it is known whether this is the end, whose call is not to be lost
            ended = self._ended.wait(PAUSE_SECONDS)
            try:
                self._write(self._newest)
                backoff.reset()
            except SeineError as error:
                extra = {"error": error.message, "version": self._newest.version}
                _logger.warning("the rows of nodes were not written; tried again", extra=extra)
                self._changed.set()
                self._ended.wait(backoff.next_seconds())

    def _write(self, view: View) -> None:
        with self._catalog.change() as change:
            if change.version() != view.version:
                return  # a newer version is true and not published yet: that will wake us
            shown = change.setting(NODES)
            if shown != view.version:
                before = self._written if shown == self._written.version else None
                change.write_nodes(**_difference(before, view), afresh=before is None)
        self._written = view


def _difference(before: View | None, after: View) -> dict[str, Any]:
    """What rows change between two views, by the names of `write_nodes`' arguments."""
    known: Nodes = before.nodes if before else {}
    registered = before.registered if before else {}
    nodes = after.nodes
    return {
        "gone": [i for i in known if i not in nodes],
        "come": [_stored(node, nodes) for i, node in nodes.items() if i not in known],
        "predicates": {
            i: _predicates(node) for i, node in nodes.items() if i in known and known[i] is not node
        },
        "uses": {
            one.query.name: one.nodes
            for key, one in after.registered.items()
            if registered.get(key) is not one
        },
    }


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
