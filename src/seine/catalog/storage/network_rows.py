"""Stores a network version as a difference: the node rows that end and those that begin with it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, delete, select, update

from seine.catalog.storage import catalog_tables as t
from seine.catalog.storage.stored_node import StoredNode
from seine.catalog.storage.stored_text import name_key, signature, storable
from seine.catalog.storage.table_rows import ids_by_key, insert_row, insert_rows, portions


def save_version(
    connection: Connection,
    version: int,
    added: list[StoredNode],
    removed: list[int],
    users: Mapping[int, Iterable[str]],
    note: str,
) -> None:
    """Insert a version. Removed nodes end before added ones begin: a node that changed is in both lists."""
    insert_row(connection, t.network_version, version=version, note=storable(note))
    _end_nodes(connection, version, removed)
    _add_nodes(connection, version, added)
    _set_users(connection, users, removed_nodes=set(removed) - {node.id for node in added})


def _end_nodes(connection: Connection, version: int, removed: list[int]) -> None:
    for portion in portions(removed):
        alive = t.node.c.id.in_(portion) & t.node.c.removed.is_(None)
        connection.execute(update(t.node).where(alive).values(removed=version))


def _add_nodes(connection: Connection, version: int, nodes: list[StoredNode]) -> None:
    insert_rows(connection, t.node, [_node_row(version, node) for node in nodes])
    rows: dict[int, int] = {}
    for portion in portions([node.id for node in nodes]):
        statement = select(t.node.c.id, t.node.c.row).where(
            t.node.c.id.in_(portion), t.node.c.added == version
        )
        rows.update({row.id: row.row for row in connection.execute(statement)})
    inputs = [
        {"node_row": rows[node.id], "port": number, "input_id": input_}
        for node in nodes
        for number, input_ in enumerate(node.inputs)
    ]
    insert_rows(connection, t.node_input, inputs)


def _node_row(version: int, node: StoredNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "added": version,
        "kind": node.kind,
        "stage": node.stage,
        "signature": signature(node.form),
        "form": json.dumps(node.form),
    }


def _set_users(
    connection: Connection, users: Mapping[int, Iterable[str]], *, removed_nodes: set[int]
) -> None:
    for portion in portions(sorted(removed_nodes | set(users))):
        connection.execute(delete(t.node_user).where(t.node_user.c.node_id.in_(portion)))
    named = [(node, name) for node, names in users.items() for name in dict.fromkeys(names)]
    ids = ids_by_key(connection, t.query, (name for _, name in named))
    insert_rows(
        connection, t.node_user, [{"node_id": node, "query_id": ids[name_key(name)]} for node, name in named]
    )
