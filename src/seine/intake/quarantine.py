"""Quarantine of a source that fails: its stream waits, the others go on, and it is tried again by itself.

It is tried again when its files are others than they were, or after a while in any case, for a fault may lie
elsewhere. Looking is cheap and gets rarer; the files are opened only to try.
"""

from __future__ import annotations

import os

from seine.intake.files import Files

_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 8.0  # between two looks at the files
_RETRY_SECONDS = 60.0  # it is tried again even if they are the same

FileMark = tuple[str, int, int, int, int]  # path, inode, size, times of change of content and of permissions


class Quarantine:
    """Since when a source fails, and when to try it again; times are seconds of the wall clock."""

    def __init__(self, files: Files, now: float) -> None:
        self.since = now
        self._files = files
        self._pause = _FIRST_PAUSE_SECONDS
        self.failed_again(now)

    def failed_again(self, now: float) -> None:
        """Note that it was tried in vain."""
        self._marks = _marks_of(self._files)
        self._look_at, self._retry_at = now + self._pause, now + _RETRY_SECONDS

    def is_due(self, now: float) -> bool:
        """Whether to try again now: its files have changed, or it is long enough ago."""
        if self._look_at <= now or now < self._look_at - _LONGEST_PAUSE_SECONDS:  # or the clock was put back
            self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)
            self._look_at = now + self._pause
            return now >= self._retry_at or _marks_of(self._files) != self._marks
        return False


def _marks_of(files: Files) -> tuple[FileMark, ...] | str:
    """What tells the files of a source from other files, or from themselves before a change."""
    try:
        statuses = [(path, os.stat(path)) for path in files.listing()]
    except OSError as error:
        return str(error)
    return tuple((path, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for path, one in statuses)
