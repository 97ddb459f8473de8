"""Power cuts without a machine: a disk that notes what was synced, and folders as a cut would leave them.

`recorded_disk` follows one folder: at each sync, and before each change of a name, it notes what the disk may
hold if the power goes then, by four models. `distinct` images are laid out by `lay_out`, and whoever lives in
such a folder has to go on from there.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import pytest

Image = Mapping[str, bytes | None]  # files and, with None, folders, by path below the followed folder

MODELS = {
    "strict": "names and bytes that were synced, the file and its folder, and nothing else",
    "names": "all names as they are, bytes only where they were synced",
    "torn": "as `names`, and half of the bytes that were not synced",
    "kill": "everything that was written: a process that was killed, as the control",
}
_CHANGES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "open"})


class Cut(NamedTuple):
    """What the disk may hold at a moment, by one model."""

    moment: str
    model: str
    image: Image


@dataclass
class RecordedDisk:
    """What is durable of a folder, as it is synced, and every moment's cuts."""

    root: str
    cuts: list[Cut] = field(default_factory=list)
    syncs: int = 0  # of files, folders and file systems
    _pinned: dict[int, int] = field(default_factory=dict)  # handles by inode, which no other file gets
    _bytes: dict[int, bytes] = field(default_factory=dict)  # what is durable of files
    _names: dict[int, dict[str, int]] = field(default_factory=dict)  # of folders
    _folders: set[int] = field(default_factory=set)
    _turn: RLock = field(default_factory=RLock)
    _busy: bool = False  # our own files are none of theirs

    def __post_init__(self) -> None:
        self.root = os.path.realpath(self.root)
        self._sync_all()

    def sync(self, handle: Any) -> None:
        """`os.fsync`: the file, or the names of the folder, is durable."""
        path = self._followed(handle)
        if path is not None:
            self.syncs += 1
            self._alone(f"fsync {path}", lambda: self._sync(path))

    def sync_file_system(self, handle: Any) -> None:
        """`os.syncfs`: all is durable."""
        if self._followed(handle) is not None:
            self.syncs += 1
            self._alone("before syncfs", lambda: None)  # other processes have written since the last moment
            self._alone("syncfs", self._sync_all)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Before a name changes, or a file is opened to be written: a moment to cut at."""
        if event not in _CHANGES or not isinstance(arguments[0], str):
            return
        if not os.path.abspath(arguments[0]).startswith(self.root + os.sep):
            return
        if event == "open" and not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR):
            return
        self._alone(f"before {event} {arguments[0]}", lambda: None)

    def images(self, moment: str) -> list[Cut]:
        """The cuts of this moment."""
        names: dict[str, bytes | None] = {}
        torn: dict[str, bytes | None] = {}
        kill: dict[str, bytes | None] = {}
        for place, folders, files in os.walk(self.root):
            for name in folders:
                path = os.path.relpath(os.path.join(place, name), self.root)
                names[path] = torn[path] = kill[path] = None
            for name in files:
                whole = os.path.join(place, name)
                path, known = os.path.relpath(whole, self.root), _read(whole)
                if known is None:
                    continue
                now, kept = known.content, self._bytes.get(known.inode, b"")
                more = len(now) - len(kept) if now.startswith(kept) else 0
                names[path], kill[path] = kept, now
                torn[path] = kept + now[len(kept) : len(kept) + more // 2]
        images = {"strict": self._strict(), "names": names, "torn": torn, "kill": kill}
        where = moment.replace(self.root, "")
        return [Cut(where, model, images[model]) for model in MODELS]

    def last(self, model: str) -> Image:
        """What the disk holds if the power goes now."""
        return next(cut.image for cut in self.images("now") if cut.model == model)

    def close(self) -> None:
        """Let go of what was pinned."""
        for handle in self._pinned.values():
            os.close(handle)

    def _alone(self, moment: str, sync: Callable[[], None]) -> None:
        with self._turn:
            if not self._busy:
                self._busy = True
                try:
                    sync()
                    self.cuts += self.images(moment)
                finally:
                    self._busy = False

    def _followed(self, handle: Any) -> str | None:
        number = handle if isinstance(handle, int) else handle.fileno()
        path = os.readlink(f"/proc/self/fd/{number}")
        return path if path == self.root or path.startswith(self.root + os.sep) else None

    def _sync(self, path: str) -> None:
        inode = self._pin(path)
        if inode is None:
            return
        if os.path.isdir(path):
            pinned = {name: self._pin(os.path.join(path, name)) for name in os.listdir(path)}
            self._names[inode] = {name: child for name, child in pinned.items() if child is not None}
        elif (now := _read(path)) is not None:
            self._bytes[inode] = now.content

    def _sync_all(self) -> None:
        for place, _, files in os.walk(self.root):
            self._sync(place)
            for name in files:
                self._sync(os.path.join(place, name))

    def _pin(self, path: str) -> int | None:
        try:
            handle = os.open(path, os.O_PATH | os.O_NOFOLLOW)
        except FileNotFoundError:  # another process has removed it
            return None
        inode = os.fstat(handle).st_ino
        if inode in self._pinned:
            os.close(handle)
        else:
            self._pinned[inode] = handle
            if os.path.isdir(path):
                self._folders.add(inode)
        return inode

    def _strict(self) -> dict[str, bytes | None]:
        image: dict[str, bytes | None] = {}

        def enter(inode: int, at: str) -> None:
            for name, child in self._names.get(inode, {}).items():
                path = os.path.join(at, name)
                image[path] = None if child in self._folders else self._bytes.get(child, b"")
                enter(child, path)

        enter(os.stat(self.root).st_ino, "")
        return image


class _Content(NamedTuple):
    """A file as it is now."""

    inode: int
    content: bytes


def _read(path: str) -> _Content | None:
    """A file that another process may have removed."""
    try:
        with open(path, "rb") as file:
            return _Content(os.fstat(file.fileno()).st_ino, file.read())
    except FileNotFoundError:
        return None


_followed: list[RecordedDisk] = []  # the one that is recorded


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    for disk in _followed:
        disk.hear(event, arguments)


_hearing: list[bool] = []


@contextmanager
def recorded_disk(root: Path | str, monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordedDisk]:
    """Follow a folder: what is in it already is durable."""
    if not _hearing:  # such a hook cannot be taken away
        sys.addaudithook(_hear)
        _hearing.append(True)
    disk = RecordedDisk(str(root))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", disk.sync)
        patch.setattr(os, "syncfs", disk.sync_file_system, raising=False)
        _followed.append(disk)
        try:
            yield disk
        finally:
            _followed.remove(disk)
    disk.close()


def distinct(cuts: Sequence[Cut], models: Sequence[str] = tuple(MODELS)) -> list[Cut]:
    """The cuts of some models that leave different folders; each the first of its like."""
    seen: dict[bytes, Cut] = {}
    for model in models:
        for cut in cuts:
            if cut.model == model:
                seen.setdefault(_digest(cut.image), cut)
    return list(seen.values())


def spread(cuts: Sequence[Cut], most: int) -> list[Cut]:
    """So many of them, evenly."""
    count = min(most, len(cuts))
    return [cuts[i * len(cuts) // count] for i in range(count)]


def lay_out(image: Image, folder: Path) -> None:
    """Make a folder that has what an image has."""
    folder.mkdir(parents=True)
    for path, content in sorted(image.items()):
        whole = folder / path
        if content is None:
            whole.mkdir(parents=True, exist_ok=True)
        else:
            whole.write_bytes(content)


def _digest(image: Image) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for path, content in sorted(image.items()):
        kind = b"d" if content is None else b"f"
        digest.update(path.encode() + b"\0" + kind + (content or b"") + b"\0")
    return digest.digest()
