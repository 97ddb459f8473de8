"""Inserts and look-ups of rows, in bulk, with constraint violations turned into error messages.

Text as it is stored and compared: keys of names, signatures of nodes, and what a database cannot hold.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Insert, Table, insert, select
from sqlalchemy.exc import IntegrityError

from seine.catalog.tables import schema as t
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
