"""What a process and the one that runs users' code for it say to one another: a header, and batches of Arrow.

    4 bytes: length of the header   header: JSON, with the length of each batch   batches: Arrow IPC streams

Nothing is pickled but the code itself, which goes one way.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seine.rows.arrow_ipc import ipc_pieces, read_ipc, size_of

_LENGTH = 4  # bytes that say how long a header is

Header = dict[str, Any]


class EndedError(Exception):
    """The other side has closed its end."""


class Link:
    """One end of a connection of two processes."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    def send(self, header: Header, batches: Sequence[pa.RecordBatch], until: float | None = None) -> None:
        """Send a message, at the latest by an instant of the monotonic clock."""
        streams = [ipc_pieces(batch) for batch in batches]
        text = json.dumps(header | {"sizes": [size_of(pieces) for pieces in streams]}).encode()
        whole = [len(text).to_bytes(_LENGTH, "big"), text, *(piece for one in streams for piece in one)]
        self._wait_until(until)
        self._socket.sendall(b"".join(whole))

    def receive(self, until: float | None = None) -> tuple[Header, list[pa.RecordBatch]]:
        """The next message; TimeoutError if it is not here in time."""
        header = json.loads(self._take(int.from_bytes(self._take(_LENGTH, until), "big"), until))
        batches = [read_ipc(pa.py_buffer(self._take(size, until))) for size in header.pop("sizes")]
        return header, batches

    def close(self) -> None:
        self._socket.close()

    def _take(self, size: int, until: float | None) -> bytearray:
        taken = bytearray(size)
        view, have = memoryview(taken), 0
        while have < size:
            self._wait_until(until)
            count = self._socket.recv_into(view[have:])
            if not count:
                raise EndedError
            have += count
        return taken

    def _wait_until(self, until: float | None) -> None:
        left = None if until is None else until - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)
