"""Large blobs between stages are objects of the pipeline's store, with a reference in the row.

What goes through the JVM is copied and sorted there several times over. A large blob is written once to
an object that no other attempt can have and is mapped by the task that needs it; Spark
moves its name. It goes when its entry is committed.
"""

from __future__ import annotations

import pyarrow as pa

from seine.runtime.output.task_pieces import put_piece
from seine.storage.store import Store

_LEAST_BYTES = 1 << 15
_NOTE = b"@piece:"  # a blob starts with the eight bytes of a small number, never with this


def put(store: Store, entry: int, parts: list[bytes | pa.Buffer]) -> bytes:
    """The blob that the parts make, or a note of the object that has it."""
    if sum(map(len, parts)) < _LEAST_BYTES:
        return b"".join(parts)
    return _NOTE + put_piece(store, entry, parts).encode()


def get(store: Store, blob: bytes) -> bytes | pa.Buffer:
    """What was put: the blob itself, or its object mapped."""
    return store.local(blob[len(_NOTE) :].decode()) if blob.startswith(_NOTE) else blob
