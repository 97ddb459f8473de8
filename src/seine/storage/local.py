"""A store in a folder of this machine: the only place that renames, locks and syncs what is kept.

    <folder>/<name>     an object; the parts of its name are folders
    <folder>/.new/      objects that are not whole yet

An object is written under another name and synced, then it gets its name, and then the folder is synced.
Imports nothing heavy.
"""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from seine.disk_sync import folder_of, make_folder, sync_to_disk, sync_tree
from seine.storage.memory import IN_MEMORY, memory_store_at
from seine.storage.store import Content, MissingObjectError, Store, parts_of, refuse_bad_name

if TYPE_CHECKING:
    import pyarrow as pa


_NEW = ".new"
_MISSING = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
_LOCK = ".lock"  # whoever swaps has this file


class LocalStore:
    """Objects as files; others may keep files of their own in the folder, under other names."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @property
    def place(self) -> str:
        return self.folder

    def __reduce__(self) -> tuple[type[LocalStore], tuple[str]]:
        return LocalStore, (self.folder,)

    def __repr__(self) -> str:
        return f"LocalStore({self.folder!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalStore) and self.folder == other.folder

    def __hash__(self) -> int:
        return hash(self.folder)

    def put(self, name: str, content: Content, *, settled: bool = True) -> None:
        path = self.path(name)
        with self._new_file(content, settled) as new:
            _in_folder(path, os.replace, new, settled)

    def claim(self, name: str, content: bytes) -> bool:
        path = self.path(name)
        if os.path.exists(path):
            return False
        with self._new_file(content, settled=True) as new:
            try:
                _in_folder(path, os.link, new, settled=True)
            except FileExistsError:
                return False
        return True

    def swap(self, name: str, content: bytes, before: bytes | None) -> bool:
        make_folder(self.folder)
        with open(os.path.join(self.folder, _LOCK), "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                now: bytes | None = self.get(name)
            except MissingObjectError:
                now = None
            if now == before:
                self.put(name, content)
            return now == before

    def get(self, name: str, begin: int = 0, end: int | None = None) -> bytes:
        try:
            with open(self.path(name), "rb") as file:
                file.seek(begin)
                return file.read() if end is None else file.read(max(end - begin, 0))
        except _MISSING:
            raise MissingObjectError(name) from None

    def list(self, prefix: str, after: str = "") -> Iterator[str]:
        names = self._names_below(prefix.rpartition("/")[0])
        return iter(sorted(name for name in names if name > after and name.startswith(prefix)))

    def _names_below(self, folder: str) -> Iterator[str]:
        try:
            entries = [*os.scandir(os.path.join(self.folder, folder))]
        except (FileNotFoundError, NotADirectoryError):
            return
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield from self._names_below(name)
            else:
                yield name

    def delete(self, names: Iterable[str]) -> None:
        folders = set()
        for name in names:
            with suppress(FileNotFoundError):
                os.remove(self.path(name))
            folders.add(name.rpartition("/")[0])
        for folder in folders:
            self._remove_empty(folder)

    def _remove_empty(self, folder: str) -> None:
        """Remove a folder, and those above it, up to the first that others are in."""
        with suppress(OSError):
            while folder:
                os.rmdir(os.path.join(self.folder, folder))
                folder = folder.rpartition("/")[0]

    def local(self, name: str) -> pa.Buffer:
        import pyarrow as pa

        try:
            with pa.memory_map(self.path(name)) as file:
                return file.read_buffer()
        except _MISSING:
            raise MissingObjectError(name) from None

    def settle(self) -> None:
        if os.path.isdir(self.folder):
            sync_tree(self.folder)

    def sweep(self) -> None:
        place = os.path.join(self.folder, _NEW)
        for name in os.listdir(place) if os.path.isdir(place) else ():
            os.remove(os.path.join(place, name))

    def path(self, name: str) -> str:
        """The file of an object."""
        refuse_bad_name(name)
        return os.path.join(self.folder, name)

    @contextmanager
    def _new_file(self, content: Content, settled: bool) -> Iterator[str]:
        """The file of an object that has no name yet; what is left of it at the end is removed."""
        path = os.path.join(self.folder, _NEW, uuid.uuid4().hex)
        make_folder(os.path.dirname(path))
        try:
            with open(path, "xb") as file:
                for part in parts_of(content):
                    file.write(part)
                if settled:
                    file.flush()
                    os.fsync(file.fileno())
            yield path
        finally:
            with suppress(FileNotFoundError):
                os.remove(path)


def _in_folder(path: str, name: Callable[[str, str], None], new: str, settled: bool) -> None:
    """Give a new file its name, in a folder that may be made, or removed as empty by another process."""
    while True:
        make_folder(folder_of(path)) if settled else os.makedirs(folder_of(path), exist_ok=True)
        try:
            name(new, path)
        except FileNotFoundError:
            if not os.path.exists(new):
                raise
            continue
        break
    if settled:
        sync_to_disk(folder_of(path))


def store_at(place: str) -> Store:
    """The store of a folder, or the one in the memory of this process that has such a place.

    >>> from seine.storage.memory import MemoryStore
    >>> store = MemoryStore()
    >>> store_at(store.place) is store, store_at("/var/lib/seine")
    (True, LocalStore('/var/lib/seine'))
    """
    return memory_store_at(place) if place.startswith(IN_MEMORY) else LocalStore(place)
