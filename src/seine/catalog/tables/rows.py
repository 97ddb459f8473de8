"""Rows of the catalog: inserts and look-ups in bulk, with constraint violations turned into error messages.

Text as it is stored and compared: keys of names, signatures of nodes, and what a database cannot hold. The
nodes that run are rows too, for whoever asks with SQL; nothing that runs reads them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Insert, Table, delete, insert, select
from sqlalchemy.exc import IntegrityError

from seine.catalog.tables import schema as t
from seine.catalog.tables.stored import StoredNode
from seine.errors import SeineError

_MOST_PARAMETERS = 500  # in one statement; databases limit them


@contextmanager
def refusing(connection: Connection, message: str, hint: str, *, on: str = "unique") -> Iterator[None]:
    """A savepoint: violating a constraint of kind `on` raises the message; the transaction stays usable."""
    try:
        with connection.begin_nested():
            yield
    except IntegrityError as error:
        if violated(error) != on:
            raise
        raise SeineError(message, hint=hint) from error


def violated(error: IntegrityError) -> str:
    """The kind of constraint that a statement violated: `unique`, `reference` or `other`."""
    return _CONSTRAINTS.get(str(getattr(error.orig, "sqlite_errorname", None)), "other")


_CONSTRAINTS = {
    "SQLITE_CONSTRAINT_UNIQUE": "unique",
    "SQLITE_CONSTRAINT_PRIMARYKEY": "unique",
    "SQLITE_CONSTRAINT_FOREIGNKEY": "reference",
}


def insert_row(connection: Connection, table: Table, **values: Any) -> Any:
    """Insert one row and return the first column of its primary key: a number, or the name of a setting."""
    key = connection.execute(insert(table).values(**values)).inserted_primary_key
    assert key is not None
    row_id: int = key[0]
    return row_id


def insert_rows(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    """Insert rows in bulk; none is fine."""
    if rows:
        connection.execute(insert(table), rows)


def insert_plain_rows(connection: Connection, statement: Insert, rows: list[dict[str, Any]]) -> None:
    """Insert very many rows of numbers, texts and bytes, all with the same columns; none is fine.

    SQLite takes such values as they are, so none of them has to be looked at on the way.
    """
    if not rows:
        return
    compiled = statement.compile(dialect=connection.dialect, column_keys=[*rows[0]])
    columns = compiled.positiontup
    if columns is None or len(columns) < 2:
        raise TypeError("rows of many columns, and a dialect with parameters by place, as SQLite's")
    connection.exec_driver_sql(str(compiled), [*map(itemgetter(*columns), rows)])


def ids_by_name(connection: Connection, table: Table, names: Iterable[str]) -> dict[str, int]:
    """Row ids of queries or inputs by these names, in whatever case; an unknown one raises an error."""
    keys = {name: name_key(name) for name in dict.fromkeys(names)}
    ids: dict[str, int] = {}
    for portion in portions([*dict.fromkeys(keys.values())]):
        statement = select(table.c.key, table.c.id).where(table.c.key.in_(portion))
        ids.update({row.key: row.id for row in connection.execute(statement)})
    for name, key in keys.items():
        if key not in ids:
            what = "query" if table is t.query else "stream or relation"
            raise SeineError(f"there is no {what} named {shown(name)}")
    return {name: ids[key] for name, key in keys.items()}


def portions(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Consecutive slices small enough for one statement.

    >>> [len(portion) for portion in portions(range(1200))]
    [500, 500, 200]
    """
    for start in range(0, len(items), _MOST_PARAMETERS):
        yield items[start : start + _MOST_PARAMETERS]


@lru_cache(maxsize=1 << 12)
def name_key(name: str) -> str:
    """A digest of a name in lower case: two names clash if their keys are equal.

    >>> name_key("Bid") == name_key("bid"), len(name_key("x" * 100_000))
    (True, 64)
    """
    return hashlib.sha256(storable(name).lower().encode()).hexdigest()


def signature(form: dict[str, Any]) -> str:
    """A digest of what a node computes: of its JSON form without its id.

    >>> a = signature({"id": 1, "kind": "select", "stage": 0})
    >>> a == signature({"stage": 0, "kind": "select", "id": 2}), a == signature({"kind": "merge", "stage": 0})
    (True, False)
    """
    meaning = {name: value for name, value in form.items() if name != "id"}
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()


def storable(text: str) -> str:
    """The text, unchanged; an error if it has characters that a text of a database cannot hold."""
    if "\0" in text or not (text.isascii() or _encodable(text)):
        raise SeineError(
            f"{shown(text)} has a character that cannot be stored", hint="leave out U+0000 and surrogates"
        )
    return text


def _encodable(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(name: str) -> str:
    """A name as an error message quotes it: escaped and cut to one line."""
    return ascii(name) if len(name) <= 60 else ascii(name[:57]) + "..."


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
