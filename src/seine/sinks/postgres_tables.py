"""The tables of sinks in PostgreSQL: what is created where nothing is, and the statements that fill them.

Names are quoted as identifiers by the driver and values are parameters or copied: no text of a user is SQL.

The net of whole micro-batches of a changelog: the keys whose rows change, and their rows afterwards.

Law: at the end of a micro-batch each key has at most one row. So whatever the order of its records within it
was, deleting the `keys` of the net and inserting its `rows` leads from the result before to the result after.

    + a 2   - a 1   - a 2   + a 3   - b 7          keys: a, b      rows: a 3

Keys that are one to the database, because they differ in what it cannot have, have one row there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from psycopg import Connection, sql

from seine.algebra.definitions import POSITION_TABLE
from seine.algebra.types import Field, Kind, Type
from seine.errors import SeineError

Columns = Sequence[tuple[str, sql.SQL]]  # names and types

POSITIONS = sql.Identifier(POSITION_TABLE)
_TYPES: Mapping[Kind, sql.SQL] = {
    Kind.BOOLEAN: sql.SQL("boolean"),
    Kind.INT: sql.SQL("integer"),
    Kind.BIGINT: sql.SQL("bigint"),
    Kind.DOUBLE: sql.SQL("double precision"),
    Kind.STRING: sql.SQL("text"),
    Kind.XML: sql.SQL("text"),
    Kind.DATE: sql.SQL("date"),
    Kind.TIMESTAMP: sql.SQL("timestamptz"),
    Kind.DECIMAL: sql.SQL("numeric"),
}


_NATURE = """
SELECT relkind, relhastriggers, relhasrules, relrowsecurity, relchecks > 0,
  EXISTS (SELECT FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = atttypid
          WHERE attrelid = c.oid AND attnum > 0 AND (atthasdef OR typtype <> 'b')),
  EXISTS (SELECT FROM pg_catalog.pg_index
          WHERE indrelid = c.oid AND (indexprs IS NOT NULL OR indpred IS NOT NULL))
FROM pg_catalog.pg_class c WHERE oid = pg_catalog.to_regclass(%s)
"""


def record_columns(domain: str) -> Columns:
    """The columns of a table that records are appended to."""
    time = sql.SQL("timestamptz" if domain == "timestamp" else "bigint")
    text = sql.SQL("text")
    return [("query", text), ("op", text), ("t_start", time), ("t_end", time), ("row", sql.SQL("jsonb"))]


def row_columns(fields: Iterable[Field]) -> Columns:
    """The columns of a table that has a query's rows."""
    return [(field.name, _column_type(field.type)) for field in fields]


def _column_type(type_: Type) -> sql.SQL:
    return _TYPES.get(type_.kind, sql.SQL("jsonb"))


def table_name(text: str) -> sql.Identifier:
    """A table, perhaps of a schema: `alerts`, `public.alerts`."""
    schema, _, name = text.rpartition(".")
    return sql.Identifier(schema, name) if schema else sql.Identifier(name)


def create_table(
    connection: Connection[Any], name: sql.Identifier, columns: Columns, key: Sequence[str] = ()
) -> None:
    """Create a table where there is none; one that is there has the user's own types and indexes."""
    (known,) = connection.execute("SELECT to_regclass(%s)", [name.as_string(connection)]).fetchone() or [None]
    if known is not None:
        return
    parts = [sql.SQL("{} {}").format(sql.Identifier(column), type_) for column, type_ in columns]
    if key:
        parts.append(sql.SQL("UNIQUE ({})").format(_names(key)))
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(name, sql.SQL(", ").join(parts)))


def create_positions(connection: Connection[Any]) -> None:
    """Create the table of positions where there is none."""
    columns = [("sink", sql.SQL("text PRIMARY KEY")), ("position", sql.SQL("bigint NOT NULL"))]
    create_table(connection, POSITIONS, columns)
    kind, *extended = connection.execute(_NATURE, [POSITION_TABLE]).fetchone() or ("",)
    if kind != "r" or any(extended):  # whoever made it before us would have our rights in its functions
        raise SeineError(
            f"{POSITION_TABLE} is no plain table: it has triggers, rules, policies, defaults, checks or"
            " expressions of somebody else's",
            hint="look who made it, and drop it if no sink has its position in it",
        )


def append_rows(
    connection: Connection[Any], name: sql.Identifier, columns: Sequence[str], rows: Iterable[Row]
) -> None:
    """Append rows of texts, which the server reads by the types of the columns."""
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(name, _names(columns))
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def delete_rows(
    connection: Connection[Any], name: sql.Identifier, columns: Sequence[str], rows: Iterable[Row]
) -> None:
    """Delete the rows that agree in these columns, NULL with NULL; an index of them can be used."""

    def is_null(row: Row) -> tuple[bool, ...]:
        return tuple(value is None for value in row)

    for nulls, alike in groupby(sorted(rows, key=is_null), is_null):
        conditions = [
            sql.SQL("{} IS NULL" if null else "{} = %s").format(_beside_parameters(sql.Identifier(column)))
            for column, null in zip(columns, nulls, strict=True)
        ]
        table = _beside_parameters(name)
        statement = sql.SQL("DELETE FROM {} WHERE {}").format(table, sql.SQL(" AND ").join(conditions))
        with connection.cursor() as cursor:
            cursor.executemany(statement, [[value for value in row if value is not None] for row in alike])


def _names(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def _beside_parameters(name: sql.Identifier) -> sql.Identifier:
    """A name for a statement with parameters, in which the driver takes % for the beginning of one."""
    return sql.Identifier(*(part.replace("%", "%%") for part in name._obj))


Row = tuple[str | None, ...]


@dataclass(frozen=True)
class NetChanges:
    """Keys and rows as the texts of their columns."""

    keys: list[Row]
    rows: list[Row]


def net_changes(changes: Iterable[tuple[bool, Row]], key: Sequence[int]) -> NetChanges:
    """The net of changes: whether a row begins, and the row; `key` are the places of the key's columns.

    >>> net_changes([(True, ("a", "2")), (False, ("a", "1")), (False, ("b", "7"))], [0])
    NetChanges(keys=[('a',), ('b',)], rows=[('a', '2')])
    """
    counts: Counter[Row] = Counter()
    for begins, row in changes:
        counts[row] += 1 if begins else -1
    changed = {row: tuple(row[place] for place in key) for row, count in counts.items() if count}
    rows = {keyed: row for row, keyed in changed.items() if counts[row] > 0}
    return NetChanges([*dict.fromkeys(changed.values())], [*rows.values()])
