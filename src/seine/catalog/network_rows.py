"""Saves a network version as the rows that changed in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, delete, select, update

from seine.catalog import catalog_tables as t
from seine.catalog.stored import StoredNode, name_key, signature, storable
from seine.catalog.table_rows import ids_by_key, portions, put, put_all


def save_version(
    connection: Connection,
    version: int,
    added: list[StoredNode],
    removed: list[int],
    users: Mapping[int, Iterable[str]],
    note: str,
) -> None:
    """Nodes end before others begin, so a node that changed may be in both lists."""
    put(connection, t.network_version, version=version, note=storable(note))
    _end_nodes(connection, version, removed)
    _add_nodes(connection, version, added)
    _set_users(connection, users, gone=set(removed) - {node.id for node in added})


def _end_nodes(connection: Connection, version: int, removed: list[int]) -> None:
    for ids in portions(removed):
        alive = t.node.c.id.in_(ids) & t.node.c.removed.is_(None)
        connection.execute(update(t.node).where(alive).values(removed=version))


def _add_nodes(connection: Connection, version: int, nodes: list[StoredNode]) -> None:
    put_all(connection, t.node, [_node_row(version, node) for node in nodes])
    rows: dict[int, int] = {}
    for ids in portions([node.id for node in nodes]):
        ask = select(t.node.c.id, t.node.c.row).where(t.node.c.id.in_(ids), t.node.c.added == version)
        rows.update({row.id: row.row for row in connection.execute(ask)})
    inputs = [
        {"node_row": rows[node.id], "port": number, "input_id": input_}
        for node in nodes
        for number, input_ in enumerate(node.inputs)
    ]
    put_all(connection, t.node_input, inputs)


def _node_row(version: int, node: StoredNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "added": version,
        "kind": node.kind,
        "stage": node.stage,
        "signature": signature(node.form),
        "form": json.dumps(node.form),
    }


def _set_users(connection: Connection, users: Mapping[int, Iterable[str]], *, gone: set[int]) -> None:
    for nodes in portions(sorted(gone | set(users))):
        connection.execute(delete(t.node_user).where(t.node_user.c.node_id.in_(nodes)))
    named = [(node, name) for node, names in users.items() for name in dict.fromkeys(names)]
    ids = ids_by_key(connection, t.query, (name for _, name in named))
    put_all(
        connection, t.node_user, [{"node_id": node, "query_id": ids[name_key(name)]} for node, name in named]
    )
