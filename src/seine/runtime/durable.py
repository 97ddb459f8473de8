"""Files that are whole or not there, and stay when the power goes. Imports nothing heavy."""

from __future__ import annotations

import os


def write_whole(path: str, content: bytes) -> None:
    """Replace a file so that a reader, or a crash, sees the old or the new one whole."""
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    _sync(os.path.dirname(path))


def _sync(folder: str) -> None:
    """Make a rename durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
