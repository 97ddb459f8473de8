"""The catalog of one Seine: opened by URL, read and changed in transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, local

from sqlalchemy.exc import IntegrityError, ProgrammingError

from seine.catalog.catalog_change import CatalogChange
from seine.catalog.catalog_tables import SCHEMA_VERSION, metadata
from seine.catalog.catalog_view import CatalogView
from seine.catalog.database import in_memory, open_engine, transaction
from seine.errors import SeineError


class Catalog:
    """What is declared and what runs, on SQLite (memory, file) or PostgreSQL.

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
        self._held = local()
        self._prepare()

    @contextmanager
    def read(self) -> Iterator[CatalogView]:
        """Read everything as of one moment."""
        with self._turn(), transaction(self._engine, writing=False) as connection:
            yield CatalogView(connection)

    @contextmanager
    def change(self) -> Iterator[CatalogChange]:
        """Change the catalog: all of the block is committed at its end, or on any error nothing."""
        with self._turn(), transaction(self._engine, writing=True) as connection:
            yield CatalogChange(connection)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not in_memory(self._engine):
            yield
            return
        if getattr(self._held, "by_me", False):
            raise RuntimeError("inside a transaction, use that transaction")
        with self._lock:
            self._held.by_me = True
            try:
                yield
            finally:
                self._held.by_me = False

    def _prepare(self) -> None:
        # Of several that open a new database at once one creates its tables; the others look again.
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
            schema = change.setting("schema")
            if schema is None:
                change.set("schema", SCHEMA_VERSION)
        if schema not in (None, SCHEMA_VERSION):
            raise SeineError(
                f"the catalog has schema version {schema}, this Seine needs {SCHEMA_VERSION}",
                hint="open it with the Seine that wrote it, or start a new one",
            )
