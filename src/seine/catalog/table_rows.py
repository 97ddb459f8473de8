"""Writing rows: in bulk, found back by name, and with a violated constraint turned into a refusal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Table, insert, select
from sqlalchemy.exc import IntegrityError

from seine.catalog import catalog_tables as t
from seine.catalog.database import violated
from seine.catalog.stored import name_key, shown
from seine.errors import SeineError

_MOST_PARAMETERS = 500  # databases bound the number of parameters of a statement


@contextmanager
def refusing(connection: Connection, message: str, hint: str, *, on: str = "unique") -> Iterator[None]:
    """A savepoint: a violated constraint of the kind `on` refuses, and the transaction stays usable."""
    try:
        with connection.begin_nested():
            yield
    except IntegrityError as error:
        if violated(error) != on:
            raise
        raise SeineError(message, hint=hint) from error


def put(connection: Connection, table: Table, **values: Any) -> Any:
    """Insert one row and return the first column of its primary key: a number, or the name of a setting."""
    key = connection.execute(insert(table).values(**values)).inserted_primary_key
    assert key is not None
    return key[0]


def put_all(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), rows)


def ids_by_key(connection: Connection, table: Table, names: Iterable[str]) -> dict[str, int]:
    """Row numbers of queries or inputs by name key; a name that is not there is refused."""
    wanted = {name_key(name): name for name in names}
    ids: dict[str, int] = {}
    for keys in portions(list(wanted)):
        ask = select(table.c.key, table.c.id).where(table.c.key.in_(keys))
        ids.update({row.key: row.id for row in connection.execute(ask)})
    for key, name in wanted.items():
        if key not in ids:
            what = "query" if table is t.query else "stream or relation"
            raise SeineError(f"there is no {what} named {shown(name)}")
    return ids


def portions(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Consecutive slices small enough for one statement.

    >>> [len(part) for part in portions(range(1200))]
    [500, 500, 200]
    """
    for start in range(0, len(items), _MOST_PARAMETERS):
        yield items[start : start + _MOST_PARAMETERS]
