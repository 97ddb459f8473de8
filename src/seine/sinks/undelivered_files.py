"""The records that a sink could not deliver, a file for each piece, and notes of what was no longer kept."""

from __future__ import annotations

import os
import time

from seine.disk_sync import make_folder, write_whole
from seine.intake.retention_limit import RetentionLimit


class UndeliveredFiles:
    """A folder of files, of which the oldest go beyond a limit; the newest always stays."""

    def __init__(self, folder: str, keep: RetentionLimit | None = None) -> None:
        self._folder, self._keep = folder, keep

    def add(self, name: str, content: bytes) -> None:
        """Write a file, durably; the same one again replaces it."""
        make_folder(self._folder)
        write_whole(os.path.join(self._folder, name), content)
        if self._keep is not None:
            self._trim(self._keep)

    def _trim(self, keep: RetentionLimit) -> None:
        with os.scandir(self._folder) as entries:
            files = sorted((one.stat().st_mtime, one.path, one.stat().st_size) for one in entries)
        size, now = sum(size for _, _, size in files), time.time()
        for written, path, bytes_ in files[:-1]:
            old = keep.seconds is not None and written < now - keep.seconds
            if not old and (keep.bytes is None or size <= keep.bytes):
                return
            os.unlink(path)
            size -= bytes_
