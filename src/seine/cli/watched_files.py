"""A script and the files that it reads, watched for changes."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterable, Iterator

_PAUSE = 0.2  # seconds between two looks
_Stamp = tuple[int, int] | None


class WatchedFiles:
    """Tells when a script, or anything that it reads, is saved again.

    What counts is what the files were like *before* they were read: what is saved meanwhile is a change.
    """

    def __init__(self, script: str) -> None:
        self._script = script
        self._inputs: tuple[str, ...] = ()
        self._seen: dict[str, _Stamp] = {}

    def look(self) -> None:
        """Take everything as it is now for known; to be called before it is read."""
        self._seen = self._state()

    def follow(self, inputs: Iterable[str]) -> None:
        """Watch these files, folders and globs from now on: the sources that the script has."""
        self._inputs = tuple(inputs)
        self._seen = {**self._state(), **self._seen}

    def wait(self) -> None:
        """Come back once something has changed."""
        while all(self._seen.get(path) == stamp for path, stamp in self._state().items()):
            time.sleep(_PAUSE)

    def _state(self) -> dict[str, _Stamp]:
        return {path: _stamp(path) for path in self._files()}

    def _files(self) -> Iterator[str]:
        yield self._script
        for path in self._inputs:
            if os.path.isdir(path):
                yield from sorted(os.path.join(path, name) for name in os.listdir(path))
            else:
                yield from sorted(glob.glob(path)) or [path]


def _stamp(path: str) -> _Stamp:
    """When a file was last written, and its size; None if it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
