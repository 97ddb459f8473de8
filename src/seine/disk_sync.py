"""What is synced is there after a power cut: files, names and renames made durable. Imports nothing heavy.

A file has two things to lose: its bytes, and its name in a folder, which is synced by itself, as is the name
of that folder. Whoever replaces a file whole, or makes a folder that is to last, does it here.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, BinaryIO

_TEMPORARY = re.compile(r".+\.\d+\.tmp")  # the name of a file that is not whole yet


def sync_to_disk(path: str) -> None:
    """Flush a file to disk; of a folder, its names: what was created in it, renamed and removed."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_whole(path: str, content: bytes) -> None:
    """Replace a file so that a reader, or a crash, sees the old or the new one whole."""
    with whole_file(path) as file:
        file.write(content)


@contextmanager
def whole_file(path: str) -> Iterator[BinaryIO]:
    """A file to write, which replaces the one at a path when it is whole; then its name lasts."""
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_to_disk(folder_of(path))


def folder_of(path: str) -> str:
    """The folder that has the name of a file or folder."""
    return os.path.dirname(os.path.abspath(path))


def is_temporary(name: str) -> bool:
    """Whether a file is one that `whole_file` began, and a kill kept from becoming whole.

    >>> is_temporary("registered.json.123.tmp"), is_temporary("registered.json")
    (True, False)
    """
    return _TEMPORARY.fullmatch(name) is not None


def sweep_temporaries(folder: str, of: str = "") -> None:
    """Remove from a folder what kills kept from becoming whole, of files with names that begin with `of`.

    Nobody may be writing these.
    """
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        if name.startswith(of) and is_temporary(name):
            os.remove(os.path.join(folder, name))


def make_folder(path: str, mode: int = 0o777) -> None:
    """Make a folder, and those above it that are missing; when this returns their names last."""
    missing = []
    place = os.path.abspath(path)
    while not os.path.isdir(place) and os.path.dirname(place) != place:
        missing.append(place)
        place = os.path.dirname(place)
    os.makedirs(path, mode=mode, exist_ok=True)
    for made in reversed(missing):
        sync_to_disk(os.path.dirname(made))


def sync_tree(folder: str) -> None:
    """Make durable whatever anybody wrote below a folder before: bytes, names and removals.

    One `syncfs` of the file system does it, with what else waits there; where there is none, a sync of each
    file and folder.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        if _syncfs(handle):
            return
    finally:
        os.close(handle)
    for place, _, names in os.walk(folder):
        for name in names:
            _sync_if_there(os.path.join(place, name))
        _sync_if_there(place)


def _sync_if_there(path: str) -> None:
    """What goes meanwhile need not last."""
    try:
        sync_to_disk(path)
    except FileNotFoundError:
        return


def _syncfs(handle: int) -> bool:
    """Sync the file system of an open file; False if this system has no call for it."""
    of_python = getattr(os, "syncfs", None)  # there is none yet
    if of_python is not None:
        of_python(handle)
        return True
    of_libc = _libc_syncfs()
    if of_libc is None:
        return False
    if of_libc(handle) != 0:
        code = ctypes.get_errno()
        if code == errno.ENOSYS:
            return False
        raise OSError(code, os.strerror(code))
    return True


@cache
def _libc_syncfs() -> Any:
    """`syncfs` of the C library, as Linux has it."""
    return getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
