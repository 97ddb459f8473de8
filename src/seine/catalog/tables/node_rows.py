"""The nodes that run, as rows for whoever asks with SQL; nothing that runs reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from seine.catalog.tables import schema as t
from seine.catalog.tables.rows import (
    ids_by_name,
    insert_plain_rows,
    insert_rows,
    name_key,
    portions,
    signature,
    storable,
)
from seine.catalog.tables.stored import StoredNode


def forget_nodes(connection: Connection) -> None:
    """Delete the rows of all nodes, and of what queries use."""
    for table in (t.node_user, t.node_predicate, t.node_ancestor, t.node_input, t.node):
        connection.execute(delete(table))


def write_nodes(
    connection: Connection,
    version: int,
    gone: Iterable[int],
    come: Iterable[StoredNode],
    predicates: Mapping[int, Iterable[str]],
    uses: Mapping[str, Iterable[int]],
) -> None:
    """Bring the rows to a version: nodes that went and came, what others ask now, what queries use."""
    _remove_nodes(connection, sorted(gone))
    _add_nodes(connection, version, list(come))
    _set_predicates(connection, predicates)
    _set_uses(connection, uses)
    needed = select(t.node.c.added)
    old = t.network_version.c.version.not_in(needed) & (t.network_version.c.version < version)
    connection.execute(delete(t.network_version).where(old))


def _remove_nodes(connection: Connection, gone: list[int]) -> None:
    for portion in portions(gone):
        connection.execute(delete(t.node).where(t.node.c.id.in_(portion)))
        for table in (t.node_predicate, t.node_ancestor):
            connection.execute(delete(table).where(table.c.node_id.in_(portion)))


def _add_nodes(connection: Connection, version: int, nodes: list[StoredNode]) -> None:
    insert_rows(connection, t.node, [_node_row(version, node) for node in nodes])
    rows: dict[int, int] = {}
    for portion in portions([node.id for node in nodes]):
        statement = select(t.node.c.id, t.node.c.row).where(t.node.c.id.in_(portion))
        rows.update({row.id: row.row for row in connection.execute(statement)})
    inputs = [
        {"node_row": rows[node.id], "port": number, "input_id": input_}
        for node in nodes
        for number, input_ in enumerate(node.inputs)
    ]
    insert_rows(connection, t.node_input, inputs)
    insert_rows(connection, t.node_ancestor, [row for node in nodes for row in _ancestor_rows(node)])
    _set_predicates(connection, {node.id: node.predicates for node in nodes if node.predicates})


def _node_row(version: int, node: StoredNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "added": version,
        "kind": node.kind,
        "stage": node.stage,
        "signature": signature(node.form),
        "form": json.dumps(node.form),
    }


def _ancestor_rows(node: StoredNode) -> Iterable[dict[str, Any]]:
    above = [] if node.selection_ancestor is None else [node.selection_ancestor]
    for role, ancestors in (("selection", above), ("join", node.join_ancestors)):
        for place, ancestor in enumerate(ancestors):
            yield {"node_id": node.id, "role": role, "place": place, "ancestor_id": ancestor}


def _set_predicates(connection: Connection, predicates: Mapping[int, Iterable[str]]) -> None:
    """Set the conditions that nodes ask of the rows of their inputs."""
    for portion in portions([*predicates]):
        connection.execute(delete(t.node_predicate).where(t.node_predicate.c.node_id.in_(portion)))
    rows = [
        {"node_id": node, "place": place, "shape": storable(shape)}
        for node, shapes in predicates.items()
        for place, shape in enumerate(shapes)
    ]
    insert_rows(connection, t.node_predicate, rows)


def _set_uses(connection: Connection, uses: Mapping[str, Iterable[int]]) -> None:
    """Set which nodes queries use; none for a query that is paused or gone."""
    for portion in portions([*map(name_key, uses)]):
        queries = select(t.query.c.id).where(t.query.c.key.in_(portion))
        connection.execute(delete(t.node_user).where(t.node_user.c.query_id.in_(queries)))
    used = {name: [*dict.fromkeys(nodes)] for name, nodes in uses.items()}
    ids = ids_by_name(connection, t.query, (name for name, nodes in used.items() if nodes))
    rows = [{"node_id": node, "query_id": ids[name]} for name, nodes in used.items() for node in nodes]
    insert_plain_rows(connection, insert(t.node_user), rows)
