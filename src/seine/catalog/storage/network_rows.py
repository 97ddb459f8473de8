"""Stores a network version as a difference: the node rows that go and those that come with it.

A node of a network version as the catalog keeps it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, delete, func, insert, select

from seine.catalog.storage import catalog_tables as t
from seine.catalog.storage.table_rows import (
    ids_by_name,
    insert_plain_rows,
    insert_row,
    insert_rows,
    name_key,
    portions,
    signature,
    storable,
)


def save_version(
    connection: Connection,
    version: int,
    added: list[StoredNode],
    removed: list[int],
    users: Mapping[int, Iterable[str]],
    note: str,
) -> None:
    """Insert a version. Removed nodes end before added ones begin: a node that changed is in both lists.

    There are rows of nodes that run, and of the versions with which these began.
    """
    before = connection.execute(select(func.max(t.network_version.c.version))).scalar()
    insert_row(connection, t.network_version, version=version, note=storable(note))
    ended = _remove_nodes(connection, removed)
    _forget_versions(connection, ended if before is None else {*ended, before})
    _add_nodes(connection, version, added)
    _add_topology(connection, added)
    _set_users(connection, users, removed_nodes=set(removed) - {node.id for node in added})


def _remove_nodes(connection: Connection, removed: list[int]) -> set[int]:
    """Delete what is known of nodes; the versions with which they had begun."""
    begun: set[int] = set()
    for portion in portions(removed):
        rows = t.node.c.id.in_(portion)
        begun.update(connection.execute(select(t.node.c.added).where(rows).distinct()).scalars())
        connection.execute(delete(t.node).where(rows))
        for table in (t.node_predicate, t.node_ancestor):
            connection.execute(delete(table).where(table.c.node_id.in_(portion)))
    return begun


def _forget_versions(connection: Connection, versions: set[int]) -> None:
    """Delete those of some versions with which no node began that still runs."""
    for portion in portions(sorted(versions)):
        begun = select(t.node.c.added).where(t.node.c.added.in_(portion))
        needed = {*connection.execute(begun.distinct()).scalars()}
        left = [version for version in portion if version not in needed]
        connection.execute(delete(t.network_version).where(t.network_version.c.version.in_(left)))


def remove_ended_nodes(connection: Connection) -> None:
    """Delete rows of nodes that ended, which catalogs used to keep."""
    connection.execute(delete(t.node).where(t.node.c.removed.is_not(None)))


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


def save_predicates(connection: Connection, predicates: Mapping[int, Iterable[str]]) -> None:
    """Set the conditions that nodes ask of the rows of their inputs."""
    for portion in portions([*predicates]):
        connection.execute(delete(t.node_predicate).where(t.node_predicate.c.node_id.in_(portion)))
    rows = [
        {"node_id": node, "place": place, "shape": storable(shape)}
        for node, shapes in predicates.items()
        for place, shape in enumerate(shapes)
    ]
    insert_rows(connection, t.node_predicate, rows)


def save_uses(connection: Connection, uses: Mapping[str, Iterable[int]]) -> None:
    """Set which nodes queries use; none for a query that is paused or gone."""
    for portion in portions([*map(name_key, uses)]):
        queries = select(t.query.c.id).where(t.query.c.key.in_(portion))
        connection.execute(delete(t.node_user).where(t.node_user.c.query_id.in_(queries)))
    used = {name: [*dict.fromkeys(nodes)] for name, nodes in uses.items()}
    ids = ids_by_name(connection, t.query, (name for name, nodes in used.items() if nodes))
    rows = [{"node_id": node, "query_id": ids[name]} for name, nodes in used.items() for node in nodes]
    insert_plain_rows(connection, insert(t.node_user), rows)


def _add_topology(connection: Connection, nodes: list[StoredNode]) -> None:
    """Insert the ancestors of nodes, and what they ask of their inputs."""
    rows: list[dict[str, Any]] = []
    for node in nodes:
        above = [] if node.selection_ancestor is None else [node.selection_ancestor]
        for role, ancestors in (("selection", above), ("join", node.join_ancestors)):
            for place, ancestor in enumerate(ancestors):
                rows.append({"node_id": node.id, "role": role, "place": place, "ancestor_id": ancestor})
    insert_rows(connection, t.node_ancestor, rows)
    save_predicates(connection, {node.id: node.predicates for node in nodes if node.predicates})


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
    ids = ids_by_name(connection, t.query, (name for _, name in named))
    insert_rows(connection, t.node_user, [{"node_id": node, "query_id": ids[name]} for node, name in named])


class StoredNode(Struct, frozen=True):
    """A node of a network version: the columns that it is looked up by, and its whole JSON form.

    Of a running node also its conditions over the rows of its inputs, the closest ancestor that is no
    selection, and those of the inputs of that one.
    """

    id: int
    kind: str
    stage: int
    inputs: tuple[int, ...]  # the nodes at its ports
    form: dict[str, Any]
    predicates: tuple[str, ...] = ()
    selection_ancestor: int | None = None
    join_ancestors: tuple[int, ...] = ()
