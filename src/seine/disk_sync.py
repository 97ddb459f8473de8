"""Making files and renames durable: what is synced is there after a power failure. Imports nothing heavy."""

from __future__ import annotations

import os


def sync_to_disk(path: str) -> None:
    """Flush a file to disk; of a folder, its names: what was created in it, renamed and removed."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
