"""Relations that are tables of a database: a reader with the strict types of files, and signs of changes.

Rows are sorted by all columns, so that equal contents give equal batches whatever order the database has.
That a table of PostgreSQL has changed is known without reading its rows:

    WITH (follow = 'true', version = 'column')    every change of a row gives the column another value
    WITH (follow = 'true', notify = 'channel')    a trigger of the table's notifies the channel

Law: if the rows were changed by a transaction that is committed, and a version or notifications follow them,
then what is asked after that differs from what was asked before. It may differ though nothing has changed.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from sqlalchemy import (
    ColumnClause,
    Connection,
    Engine,
    String,
    TableClause,
    cast,
    column,
    create_engine,
    event,
    func,
    select,
    table,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from seine.algebra.definitions import RelationDef, Source
from seine.backoff import Backoff
from seine.errors import SeineError
from seine.intake.parsed import TUPLE, DeadLine, Parsed, parsed_tuples, shorten
from seine.intake.record_layout import RecordLayout
from seine.postgres_timeouts import CONNECT_SECONDS, SilenceGuard, connection_arguments

_ROWS_PER_BATCH = 50_000


def read_table(relation: RelationDef, layout: RecordLayout) -> Iterator[Parsed]:
    """All rows of a relation's table, batch by batch; an error if the table cannot be read."""
    columns: list[ColumnClause[Any]] = [column(field.name) for field in relation.fields]
    statement = select(*columns).select_from(table_of(relation, *columns)).order_by(*columns)
    with connected(relation) as (connection, guard, where):
        rows = connection.execution_options(yield_per=_ROWS_PER_BATCH).execute(statement)
        first = 1
        for partition in rows.partitions():
            yield _parsed(where, layout, partition, first)
            guard.heard()
            first += len(partition)


def table_of(relation: RelationDef, *columns: ColumnClause[Any]) -> TableClause:
    """The table of a relation, with columns."""
    assert relation.source is not None
    schema, _, name = dict(relation.source.options)["table"].rpartition(".")
    return table(name, *columns, schema=schema or None)


@contextmanager
def connected(relation: RelationDef) -> Iterator[tuple[Connection, SilenceGuard, str]]:
    """A connection to a relation's database, what guards it, and the table's name for messages."""
    assert relation.source is not None
    address = _address(relation)
    where = _where(relation.source, address)
    guard = SilenceGuard()
    try:
        with _engine(address, guard) as engine, guard, engine.connect() as connection:
            yield connection, guard, where
    except ModuleNotFoundError as missing:
        message = f"the driver {missing.name} of a database is not installed"
        raise SeineError(message, hint="pip install 'seine-streams[postgres]'") from missing
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        reason = "the server has stopped answering" if guard.has_cut else reason
        raise SeineError(
            f"relation {relation.name}: cannot read {where}: {reason}",
            hint="is the database up? Its address may have connect_timeout and options",
        ) from error


@contextmanager
def _engine(address: URL, guard: SilenceGuard) -> Iterator[Engine]:
    """An engine for one read; of PostgreSQL one that waits for no server for ever."""
    postgres = address.get_backend_name() == "postgresql"
    engine = create_engine(
        address, connect_args=connection_arguments(address.query) if postgres else {}, poolclass=NullPool
    )
    if postgres:

        @event.listens_for(engine, "do_connect")
        def connect(dialect: Any, _record: object, arguments: Any, options: Any) -> Any:
            connection = dialect.connect(*arguments, **options)
            guard.watch(connection.fileno())  # before the first statement, which is not ours
            return connection

    try:
        yield engine
    finally:
        engine.dispose()


def _address(relation: RelationDef) -> URL:
    """The URL of the database; an SQLite file must exist, because connecting would create one."""
    assert relation.source is not None
    try:
        address = make_url(relation.source.path)
    except (ArgumentError, ValueError) as error:  # not repeated: there may be a password in it
        raise SeineError(
            f"relation {relation.name}: its FROM clause is no address of a database",
            hint="FROM 'postgresql://user@host:5432/database' WITH (table = 'name')",
        ) from error
    if address.drivername == "postgresql":
        address = address.set(drivername="postgresql+psycopg")
    file = address.database if address.drivername.startswith("sqlite") else None
    if file and not os.path.isfile(file):
        raise SeineError(f"relation {relation.name}: cannot read {file}: no such file")
    return address


def _where(source: Source, address: URL) -> str:
    """The table and its database for messages, without passwords, which the URL's options may hold too."""
    name = dict(source.options)["table"]
    return f"table {name} of {address.set(query={}).render_as_string(hide_password=True)}"


def _parsed(where: str, layout: RecordLayout, rows: Sequence[Any], first: int) -> Parsed:
    """Rows as typed columns; a row with a value that does not fit its type is a dead letter."""
    dead: dict[int, str] = {}
    arrays = [
        _typed([row[i] for row in rows], field.type.arrow(), f"column {field.name}", dead)
        for i, field in enumerate(layout.fields)
    ]

    def record(line: int) -> str:
        return shorten(repr(tuple(rows[line - first])).encode())

    letters = [DeadLine(first + i, reason, record(first + i)) for i, reason in sorted(dead.items())]
    batch = pa.RecordBatch.from_arrays(arrays, schema=layout.schema)
    numbers, kinds = np.arange(first, first + len(rows)), np.full(len(rows), TUPLE, np.int8)
    whole = parsed_tuples(layout, where, batch, numbers, kinds, record)
    kept = np.array([i for i in range(len(rows)) if i not in dead], np.int64)
    return replace(whole, tuples=whole.tuples.take(kept), dead=letters) if dead else whole


def _typed(values: list[Any], type_: pa.DataType, what: str, dead: dict[int, str]) -> pa.Array:
    try:
        return pa.array(values, type_)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.concat_arrays([_one(value, type_, i, what, dead) for i, value in enumerate(values)])


def _one(value: object, type_: pa.DataType, i: int, what: str, dead: dict[int, str]) -> pa.Array:
    try:
        return pa.array([value], type_)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        dead.setdefault(i, f"{what}: the value does not fit its type")
        return pa.nulls(1, type_)


_logger = logging.getLogger(__name__)

_MOMENT = 2.0  # seconds that are waited for a notification at once


def version_of(relation: RelationDef, name: str) -> str:
    """The rows that there are, by a column that every change of a row changes: their number and a sum.

    The largest value would not do: of two transactions the one that took its value first may commit last.
    """
    version: ColumnClause[Any] = column(name)
    mixed = func.sum(func.hashtextextended(cast(version, String), 0))
    statement = select(func.count(), mixed).select_from(table_of(relation, version))
    with connected(relation) as (connection, _, _):
        rows, total = connection.execute(statement).one()
    return f"{rows} {total}"


class ChangeListener:
    """Counts the notifications of a channel in a thread of its own; LISTEN itself counts as one.

    What happened while there was no connection nobody is told, so every new one counts too.
    """

    def __init__(self, relation: RelationDef, channel: str) -> None:
        self._relation, self._channel = relation, channel
        self._count = 0
        self._closed = threading.Event()
        self._ready = threading.Event()
        thread = threading.Thread(target=self._listen, name=f"listen {relation.name}", daemon=True)
        thread.start()

    def heard(self) -> int:
        """How often something may have changed so far; a new listener is given some time to connect."""
        self._ready.wait(CONNECT_SECONDS)
        return self._count

    def close(self) -> None:
        """Listen no more."""
        self._closed.set()

    def _listen(self) -> None:
        backoff = Backoff(0.5, 30.0)
        while not self._closed.is_set():
            try:
                self._listen_once()
                backoff.reset()
            except SeineError as error:
                extra = {"relation": self._relation.name, "reason": error.message}
                _logger.warning("nobody listens to a channel", extra=extra)
            self._count += 1
            self._ready.set()
            self._closed.wait(backoff.next_seconds())

    def _listen_once(self) -> None:
        """Listen until the connection breaks."""
        with connected(self._relation) as (connection, guard, where):
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            quoted = connection.dialect.identifier_preparer.quote_identifier(self._channel)
            connection.exec_driver_sql(f"LISTEN {quoted}")
            self._count += 1
            self._ready.set()
            driver: Any = connection.connection.driver_connection
            try:
                while not self._closed.is_set():
                    self._count += sum(1 for _ in driver.notifies(timeout=_MOMENT, stop_after=1))
                    guard.heard()
            except connection.dialect.loaded_dbapi.Error as error:
                raise SeineError(f"the connection that listened for {where} broke") from error
