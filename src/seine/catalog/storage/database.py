"""Database connections: SQLite and PostgreSQL with the same transactions, foreign keys and error messages."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError
from sqlalchemy.pool import StaticPool

from seine.errors import SeineError
from seine.postgres_timeouts import connection_arguments

_logger = logging.getLogger(__name__)

_WRITING = "seine_writing"
_MOST_WAL_ATTEMPTS, _WAL_RETRY_SECONDS = 100, 0.05


def open_engine(url: str) -> Engine:
    """An SQLAlchemy engine for SQLite (in memory or a file) or PostgreSQL."""
    address = _address(url)
    try:
        if address.get_backend_name() == "sqlite":
            return _sqlite(address)
        return create_engine(
            address,
            isolation_level="REPEATABLE READ",
            pool_pre_ping=True,
            connect_args=connection_arguments(address.query),
        )
    except ModuleNotFoundError as missing:
        raise SeineError(
            f"the catalog's driver {missing.name} is not installed",
            hint="pip install 'seine-streams[postgres]'",
        ) from missing


def in_memory(engine: Engine) -> bool:
    """Whether the database lives in memory, on one connection that all threads share."""
    return isinstance(engine.pool, StaticPool)


@contextmanager
def transaction(engine: Engine, *, writing: bool) -> Iterator[Connection]:
    """A transaction: committed at the end of the block, rolled back on any error."""
    try:
        with engine.connect() as connection:
            connection = connection.execution_options(**{_WRITING: writing})
            with connection.begin():
                yield connection
    except DBAPIError as error:
        raise _refusal(engine, error) from error


def violated(error: IntegrityError) -> str:
    """The kind of constraint that a statement violated: `unique`, `reference` or `other`."""
    code = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "sqlite_errorname", None)
    return _CONSTRAINTS.get(str(code), "other")


_CONSTRAINTS = {
    "23505": "unique",
    "SQLITE_CONSTRAINT_UNIQUE": "unique",
    "SQLITE_CONSTRAINT_PRIMARYKEY": "unique",
    "23503": "reference",
    "SQLITE_CONSTRAINT_FOREIGNKEY": "reference",
}


def _address(url: str) -> URL:
    try:
        address = make_url(url)
        backend = address.get_backend_name()
    except (ArgumentError, NoSuchModuleError) as error:
        raise SeineError("the catalog's address is no database URL", hint=_EXAMPLES) from error
    if backend not in ("sqlite", "postgresql"):
        raise SeineError(f"the catalog cannot be kept on {backend}", hint=_EXAMPLES)
    return address.set(drivername="postgresql+psycopg") if backend == "postgresql" else address


_EXAMPLES = "use sqlite:///seine.db or postgresql://user@host/database"


def _sqlite(address: URL) -> Engine:
    memory = address.database in (None, "", ":memory:")
    options: dict[str, Any] = {"poolclass": StaticPool} if memory else {}
    engine = create_engine(address, connect_args={"check_same_thread": False, "timeout": 30}, **options)

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver must not begin or commit by itself
        connection.execute("PRAGMA foreign_keys = ON")
        if not memory:  # readers do not wait for a writer, and a commit is one write to the disk
            _use_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer takes its lock at once: a reader that becomes one may be refused half-way.
        writing = connection.get_execution_options().get(_WRITING, True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _use_wal(connection: Any) -> None:
    """Switch to write-ahead logging; retried, as SQLite does not wait for others that open a new database."""
    for left in reversed(range(_MOST_WAL_ATTEMPTS)):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not left or "locked" not in str(error):
                raise
        _logger.debug("the catalog is locked: trying again", extra={"tries_left": left})
        time.sleep(_WAL_RETRY_SECONDS)


def _refusal(engine: Engine, error: DBAPIError) -> SeineError:
    lost = getattr(error.orig, "sqlstate", None) in _LOST_RACES
    if lost or (isinstance(error, IntegrityError) and violated(error) == "unique"):
        return SeineError(
            "another writer changed the catalog at the same time", hint="nothing was changed; try again"
        )
    where = engine.url.render_as_string(hide_password=True)
    reason = next(iter(str(error.orig).strip().splitlines()), type(error.orig).__name__)
    return SeineError(
        f"the catalog {where} refused: {reason}", hint="nothing was changed; can it be reached and written?"
    )


_LOST_RACES = ("40001", "40P01")  # serialization failure, deadlock
