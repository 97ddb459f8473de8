"""What a process and the one that runs users' code for it say to one another: a header, and batches of Arrow.

    4 bytes: length of the header   header: JSON, with the length of each batch   batches: Arrow IPC streams

Nothing is pickled but the code itself, which goes one way.
"""

from __future__ import annotations

import json
import math
import operator
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from seine.rows.arrow_ipc import ipc_pieces, read_ipc, size_of

_LENGTH = 4  # bytes that say how long a header is

Header = dict[str, Any]


class EndedError(Exception):
    """The other side has closed its end."""


class UnreadableError(Exception):
    """What came is no message."""


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

    def receive(
        self, until: float | None = None, most: float = math.inf
    ) -> tuple[Header, list[pa.RecordBatch]]:
        """The next message, of at most so many bytes.

        TimeoutError if it is not here in time, UnreadableError if it is none.
        """
        length = int.from_bytes(self._take(_LENGTH, until), "big")
        if length > most:
            raise UnreadableError
        text = self._take(length, until)
        with _reading():
            header = json.loads(text)
            sizes = [*map(operator.index, header.pop("sizes"))]
        if min(sizes, default=0) < 0 or length + sum(sizes) > most:  # the other side says what it likes
            raise UnreadableError
        streams = [self._take(size, until) for size in sizes]
        with _reading():
            return header, [read_ipc(pa.py_buffer(stream)) for stream in streams]

    def close(self) -> None:
        self._socket.close()

    def _take(self, size: int, until: float | None) -> bytearray:
        with _reading():
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


@contextmanager
def _reading() -> Iterator[None]:
    """Within this, whatever goes wrong with what came is that it cannot be read."""
    try:
        yield
    except (
        *(ValueError, TypeError, LookupError, AttributeError, OSError, StopIteration),
        *(pa.ArrowException, RecursionError, MemoryError),
    ) as error:
        raise UnreadableError from error
