"""The nodes that run, as rows of the catalog: what computes what from what, and for whom.

    SELECT n.id, n.kind, COUNT(*) AS queries FROM seine_node n JOIN seine_node_user u ON u.node_id = n.id
    GROUP BY n.id, n.kind ORDER BY queries DESC

Kind, inputs and keys of a node never change, so a row is written when a node comes and deleted when it goes;
what it asks of its inputs grows and shrinks with its queries.

Cites: ARGUS 5.1.4 (DPredSet, SVOA, JVOA), 5.1.5 (relational model)
"""

from __future__ import annotations

from collections.abc import Mapping

from seine.catalog import CatalogChange, StoredNode
from seine.graph.claims import claimed_nodes
from seine.graph.node import Node
from seine.graph.snapshot import NetworkChange

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
