"""A transactional metadata store, opened by a database URL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, local

from sqlalchemy.exc import IntegrityError, ProgrammingError

from seine.catalog.catalog_change import CatalogChange
from seine.catalog.catalog_view import CatalogView
from seine.catalog.storage.catalog_tables import SCHEMA_VERSION, metadata
from seine.catalog.storage.database import in_memory, open_engine, transaction
from seine.catalog.storage.network_rows import remove_ended_nodes
from seine.errors import SeineError


class Catalog:
    """The declarations, queries and network versions of one Seine, on SQLite (memory, file) or PostgreSQL.

    >>> from seine.algebra.definitions import RelationDef
    >>> from seine.algebra.types import BIGINT, Field
    >>> catalog = Catalog()
    >>> with catalog.change() as c:
    ...     c.add_relation(RelationDef("fact", (Field("a", BIGINT),), source=None))
    >>> with catalog.read() as r:
    ...     list(r.relations())
    ['fact']
    """

    def __init__(self, url: str = "sqlite://") -> None:
        self._engine = open_engine(url)
        self._lock = Lock()  # a database in memory is one connection: its transactions take turns
        self._open_here = local()  # whether this thread is inside a transaction
        self._prepare()

    @contextmanager
    def read(self) -> Iterator[CatalogView]:
        """A read-only transaction: everything that it reads is of one snapshot."""
        with self._turn(), transaction(self._engine, writing=False) as connection:
            yield CatalogView(connection)

    @contextmanager
    def change(self) -> Iterator[CatalogChange]:
        """A read-write transaction: committed at the end of the block, rolled back on any error."""
        with self._turn(), transaction(self._engine, writing=True) as connection:
            yield CatalogChange(connection)

    def close(self) -> None:
        """Close the connections to the database."""
        self._engine.dispose()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not in_memory(self._engine):
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

    def _prepare(self) -> None:
        # If several processes open a new database at once, one creates its tables and the others try again.
        for last in (False, False, True):
            try:
                self._create_or_check()
                break
            except SeineError as error:
                if last or not isinstance(error.__cause__, IntegrityError | ProgrammingError):
                    raise

    def _create_or_check(self) -> None:
        with self._turn(), transaction(self._engine, writing=True) as connection:
            metadata.create_all(connection)
            change = CatalogChange(connection)
            stored_version = change.setting("schema")
            if stored_version is None:
                change.set("schema", SCHEMA_VERSION)
            elif stored_version == SCHEMA_VERSION:
                remove_ended_nodes(connection)
        if stored_version not in (None, SCHEMA_VERSION):
            raise SeineError(
                f"the catalog has schema version {stored_version}, this Seine needs {SCHEMA_VERSION}",
                hint="open it with the Seine that wrote it, or start a new one",
            )
