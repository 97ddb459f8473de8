"""What tells that a table of PostgreSQL has changed, without reading its rows.

    WITH (follow = 'true', version = 'column')    every change of a row gives the column another value
    WITH (follow = 'true', notify = 'channel')    a trigger of the table's notifies the channel

Law: if the rows were changed by a transaction that is committed, and a version or notifications follow them,
then what is asked after that differs from what was asked before. It may differ though nothing has changed.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

from sqlalchemy import ColumnClause, String, cast, column, func, select

from seine.algebra.definitions import RelationDef
from seine.backoff import Backoff
from seine.errors import SeineError
from seine.intake.database_tables import connected, table_of
from seine.postgres_timeouts import CONNECT_SECONDS

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
