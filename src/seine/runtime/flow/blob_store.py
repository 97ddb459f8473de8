"""Shuffle files: large blobs between stages are files of the pipeline's folder, with a reference in the row.

What goes through the JVM is copied and sorted there several times over. A large blob is written once to
a file that no other attempt can have and is mapped by the task that needs it; Spark
moves its name. The files go when their entry is committed.
"""

from __future__ import annotations

import os
import uuid

import pyarrow as pa

_LEAST_FILE_BYTES = 1 << 15
_NOTE = b"@file:"  # a blob starts with the eight bytes of a small number, never with this


def put(folder: str, pieces: list[bytes | pa.Buffer]) -> bytes:
    """The blob that the pieces make, or a note of the file that holds it."""
    if sum(map(len, pieces)) < _LEAST_FILE_BYTES:
        return b"".join(pieces)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{uuid.uuid4().hex}.parcel")
    with open(path, "xb") as file:
        file.writelines(pieces)
    return _NOTE + path.encode()


def get(blob: bytes) -> bytes | pa.Buffer:
    """What was put: the blob itself, or its file mapped."""
    if not blob.startswith(_NOTE):
        return blob
    return pa.memory_map(blob[len(_NOTE) :].decode()).read_buffer()
