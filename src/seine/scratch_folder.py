"""The temporary files of this process, in one folder that the next process removes if this one was killed.

A process that is killed tidies nothing up. So each has one folder below the system's temporary one, and in
it a file `lock` that it holds locked: the lock goes when the process does, however that ends. Whoever makes
such a folder removes those whose lock nobody holds.
"""

from __future__ import annotations

import atexit
import fcntl
import glob
import os
import shutil
import tempfile
from dataclasses import dataclass

_PREFIX = "seine-scratch-"


@dataclass(frozen=True)
class _Held:
    """A folder that is ours as long as its lock file is open."""

    process: int
    system: str  # the temporary folder that it lies in
    path: str
    lock: int


_held: list[_Held] = []  # one, or none yet; a forked process makes its own


def scratch_folder() -> str:
    """The folder for temporary files of this process; it goes when the process ends.

    >>> scratch_folder() == scratch_folder(), os.path.isdir(scratch_folder())
    (True, True)
    """
    here = (os.getpid(), tempfile.gettempdir())
    if not _held or (_held[-1].process, _held[-1].system) != here or not os.path.isdir(_held[-1].path):
        remove_abandoned()
        _held.append(_made())
        atexit.register(_remove, _held[-1])
    return _held[-1].path


def remove_abandoned() -> None:
    """Remove the folders of this user's processes that have died."""
    for path in glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), f"{_PREFIX}*")):
        if os.path.islink(path) or not os.path.isdir(path) or os.stat(path).st_uid != os.getuid():
            continue
        lock = _locked(path)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)  # what is left of a dying process may still write there
            os.close(lock)


def _made() -> _Held:
    """A new folder; another process that finds it before it is locked may take it for an abandoned one."""
    while True:
        path = tempfile.mkdtemp(prefix=_PREFIX)
        lock = _locked(path)
        if lock is not None:
            return _Held(os.getpid(), tempfile.gettempdir(), path, lock)


def _locked(path: str) -> int | None:
    """Take the lock of a folder; None if somebody holds it, or the folder is gone."""
    name = os.path.join(path, "lock")
    try:
        lock = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.stat(name)):
            return lock
    except OSError:
        pass  # held by another process, or removed by one meanwhile
    os.close(lock)
    return None


def _remove(held: _Held) -> None:
    if held.process == os.getpid():
        shutil.rmtree(held.path, ignore_errors=True)
