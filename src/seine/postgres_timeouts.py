"""How long a PostgreSQL server may take: to be connected to, for a statement, and to say anything at all.

A host that accepts connections and then is silent must not hold whoever reads from it. The server itself ends
statements that take too long; a server that does not even do that is given up by cutting the connection.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

CONNECT_SECONDS = 10
STATEMENT_SECONDS = 300
SILENCE_SECONDS = 330.0  # a little longer than a statement may take: it is for servers that say nothing


def connection_arguments(given: Mapping[str, object]) -> dict[str, Any]:
    """The time-outs as arguments of libpq, but for those that an address gives itself.

    >>> connection_arguments({"connect_timeout": "3", "options": "-c search_path=a"})["options"]
    '-c search_path=a -c statement_timeout=300000'
    """
    limits: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS,
        "tcp_user_timeout": CONNECT_SECONDS * 1000,  # what was sent must be acknowledged
        "keepalives_idle": CONNECT_SECONDS,
        "keepalives_interval": CONNECT_SECONDS,
        "keepalives_count": 3,
    }
    arguments = {name: limit for name, limit in limits.items() if name not in given}
    options = str(given.get("options", ""))
    if "statement_timeout" not in options:
        arguments["options"] = f"{options} -c statement_timeout={STATEMENT_SECONDS * 1000}".strip()
    return arguments


class SilenceGuard:
    """Cuts a connection whose server has been silent for too long; who waits for it hears that it is gone.

    It keeps a descriptor of its own, so that it never cuts what got the connection's number later.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = SILENCE_SECONDS if seconds is None else seconds
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._timer: threading.Timer | None = None
        self.has_cut = False

    def __enter__(self) -> SilenceGuard:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def watch(self, file: int) -> None:
        """Watch a connection, by its file descriptor, from now on."""
        with self._lock:
            self._connection = socket.socket(fileno=os.dup(file))
        self.heard()

    def heard(self) -> None:
        """The server has answered."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._connection is not None:
                self._timer = threading.Timer(self._seconds, self._cut)
                self._timer.daemon = True
                self._timer.start()

    def _cut(self) -> None:
        with self._lock:
            if self._connection is not None:
                self.has_cut = True
                with suppress(OSError):  # it may have ended by itself
                    self._connection.shutdown(socket.SHUT_RDWR)
