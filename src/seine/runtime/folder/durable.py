"""Files that are whole or not there, and stay when the power goes. Imports nothing heavy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from seine.disk_sync import sync_to_disk


def write_whole(path: str, content: bytes) -> None:
    """Replace a file so that a reader, or a crash, sees the old or the new one whole."""
    with whole_file(path) as file:
        file.write(content)


@contextmanager
def whole_file(path: str) -> Iterator[BinaryIO]:
    """A file to write, which replaces the one at a path when it is whole."""
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_to_disk(os.path.dirname(path))
