"""A transactional metadata store: a file of SQLite, or a database in memory for tests."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, local
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import StaticPool

from seine.backoff import Backoff
from seine.catalog.catalog_change import CatalogChange
from seine.catalog.catalog_view import CatalogView
from seine.catalog.tables.rows import violated
from seine.catalog.tables.schema import SCHEMA_VERSION, metadata
from seine.errors import SeineError

_logger = logging.getLogger(__name__)

_WRITING = "seine_writing"
_WAL_SECONDS, _MOST_WAL_TRIES = (0.01, 0.1), 60


class Catalog:
    """The declarations, queries and network versions of one Seine, in a file or, without one, in memory.

    >>> from seine.algebra.definitions import RelationDef
    >>> from seine.algebra.types import BIGINT, Field
    >>> catalog = Catalog()
    >>> with catalog.change() as c:
    ...     c.add_relation(RelationDef("fact", (Field("a", BIGINT),), source=None))
    >>> with catalog.read() as r:
    ...     list(r.relations())
    ['fact']
    """

    def __init__(self, file: str | None = None) -> None:
        self._engine = open_engine(file)
        self._lock = Lock()
        self._open_here = local()  # whether this thread is inside a transaction
        self._create_or_check()

    @contextmanager
    def read(self) -> Iterator[CatalogView]:
        """A read-only transaction: everything that it reads is of one snapshot."""
        with self._turn(writing=False), transaction(self._engine, writing=False) as connection:
            yield CatalogView(connection)

    @contextmanager
    def change(self) -> Iterator[CatalogChange]:
        """A read-write transaction: committed at the end of the block, rolled back on any error."""
        with self._turn(writing=True), transaction(self._engine, writing=True) as connection:
            yield CatalogChange(connection)

    def close(self) -> None:
        """Close the connections to the database."""
        self._engine.dispose()

    @contextmanager
    def _turn(self, *, writing: bool) -> Iterator[None]:
        """Threads that write take turns; in memory those that read, too, for there is one connection."""
        if not writing and not isinstance(self._engine.pool, StaticPool):
            yield
            return
        if getattr(self._open_here, "inside", False):
            raise RuntimeError("inside a transaction, use that transaction")
        with self._lock:
            self._open_here.inside = True
            try:
                yield
            finally:
                self._open_here.inside = False

    def _create_or_check(self) -> None:
        with self._turn(writing=True), transaction(self._engine, writing=True) as connection:
            metadata.create_all(connection)
            change = CatalogChange(connection)
            stored_version = change.setting("schema")
            if stored_version is None:
                change.set("schema", SCHEMA_VERSION)
        if stored_version not in (None, SCHEMA_VERSION):
            raise SeineError(
                f"the catalog has schema version {stored_version}, this Seine needs {SCHEMA_VERSION}",
                hint="open it with the Seine that wrote it, or start a new one",
            )


@contextmanager
def transaction(engine: Engine, *, writing: bool) -> Iterator[Connection]:
    """A transaction: committed at the end of the block, rolled back on any error.

    One that writes waits until no other does: SQLite has one writer at a time.
    """
    try:
        with engine.connect() as connection:
            connection = connection.execution_options(**{_WRITING: writing})
            with connection.begin():
                yield connection
    except DBAPIError as error:
        raise _refusal(engine, error) from error


def _refusal(engine: Engine, error: DBAPIError) -> SeineError:
    if isinstance(error, IntegrityError) and violated(error) == "unique":
        return SeineError(
            "another writer changed the catalog at the same time", hint="nothing was changed; try again"
        )
    reason = next(iter(str(error.orig).strip().splitlines()), type(error.orig).__name__)
    return SeineError(
        f"the catalog {engine.url.database} refused: {reason}",
        hint="nothing was changed; can it be reached and written?",
    )


def open_engine(file: str | None) -> Engine:
    """SQLite with transactions that we begin ourselves and foreign keys that hold, on a file or in memory."""
    options: dict[str, Any] = {} if file else {"poolclass": StaticPool}
    url = URL.create("sqlite", database=file)
    engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": 30}, **options)

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver must not begin or commit by itself
        connection.execute("PRAGMA foreign_keys = ON")
        if file:  # readers do not wait for a writer, and a commit is one write to the disk
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
    backoff = Backoff(*_WAL_SECONDS, most=_MOST_WAL_TRIES)
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            pause = backoff.next_seconds()
            if pause is None or "locked" not in str(error):
                raise
        _logger.debug("the catalog is locked: trying again", extra={"tries": backoff.tries})
        time.sleep(pause)
