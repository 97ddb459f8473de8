"""The push door: records that programs send to a service, durable before they are answered.

    POST /v1/streams/bid/records      a file in the stream's folder, whole
    entries                           intake reads the files in order, as it reads any folder
    the entry is delivered            a file that is read to its end is put aside; its idempotency key is kept
    no position names it any more     it goes

Law: a request with an idempotency key is one file, whether it comes once or again, before or after a crash:
the key is in the name of the file, which is given to it when it is durable; when the file goes, the key is in
the log of keys already. Of a stream the last keys are kept, `_MOST_KEYS`. A new file may get the inode and
the number of one that is gone: so none goes while a position names it, or the new one would count as read.
In a copy of the folder files have other inodes than positions say, so they are known by their names, too.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock

from seine.algebra.definitions import PUSHED, StreamDef
from seine.disk_sync import make_folder, sweep_temporaries, sync_to_disk, write_whole
from seine.errors import SeineError, TakenError
from seine.intake.intake_state import FileCursor, LineCursor, StreamState, file_identity
from seine.intake.line_reader import PUSHED_NAME, is_other_push

_MOST_KEYS = 100_000  # of a stream: a retry that comes after so many others is taken for a new request
_MOST_WAITING_FILES = 1000
_MOST_WAITING_BYTES = 256 << 20
_LOG = "_keys.jsonl"
_ASIDE = "_read"


class BehindError(SeineError):
    """Intake is behind: what was sent before is not read yet."""


@dataclass(frozen=True)
class Push:
    """A request that was taken: its lines, and whether it had come before."""

    lines: int
    repeated: bool = False


@dataclass
class _PushedFolder:
    """What is known of the folder of a stream: the files that wait, and the keys of all that came."""

    path: str
    next: int = 0
    waiting: dict[str, int] = field(default_factory=dict)  # sizes of files, by name
    keys: dict[str, tuple[str, int]] = field(default_factory=dict)  # digest and lines, by the hash of a key
    logged: int = 0  # lines of the log of keys
    unsynced: bool = False  # whether a name may be lost yet when the power fails

    @staticmethod
    def read(path: str) -> _PushedFolder:
        """What a folder holds; a request that was cut off in the middle is not there."""
        folder = _PushedFolder(path)
        make_folder(folder.aside)
        sweep_temporaries(path)
        log = os.path.join(path, _LOG)
        if os.path.exists(log):
            _end_line(log)
            with open(log, encoding="utf-8") as file:
                lines = file.readlines()
            folder.keys = {key: (digest, count) for key, digest, count in map(json.loads, lines)}
            folder.logged = len(lines)
        for name in sorted(os.listdir(path)):
            if name.startswith("."):
                os.remove(os.path.join(path, name))
            elif PUSHED_NAME.fullmatch(name):
                folder._know(name, os.path.getsize(os.path.join(path, name)))
        numbers = [int(name.partition("-")[0]) for name in [*folder.waiting, *os.listdir(folder.aside)]]
        folder.next = max(numbers, default=-1) + 1
        return folder

    @property
    def aside(self) -> str:
        """Where files are that have been read, as long as a position names them."""
        return os.path.join(self.path, _ASIDE)

    def _know(self, name: str, size: int) -> None:
        match = PUSHED_NAME.fullmatch(name)
        assert match is not None
        self.waiting[name] = size
        if match[2] != "none":
            self.keys[match[2]] = match[3], int(match[4])

    def _shorten_log(self) -> None:
        """Forget the oldest keys, and write the others anew when the log has twice as many."""
        while len(self.keys) > _MOST_KEYS:
            del self.keys[next(iter(self.keys))]
        if self.logged > 2 * _MOST_KEYS:
            text = "".join(_log_line(key, *of) for key, of in self.keys.items())
            write_whole(os.path.join(self.path, _LOG), text.encode())
            self.logged = len(self.keys)

    def take(self, body: bytes, key: str | None) -> Push:
        """Keep a request; when this returns it is durable."""
        lines, digest = body.count(b"\n"), hashlib.blake2b(body, digest_size=16).hexdigest()
        hashed = hashlib.blake2b(key.encode(), digest_size=16).hexdigest() if key is not None else "none"
        if key is not None and hashed in self.keys:
            known, count = self.keys[hashed]
            if known != digest:
                hint = "an Idempotency-Key is for one request and its retries"
                raise TakenError("this Idempotency-Key came with other records", hint=hint)
            self._sync_names()
            return Push(count, repeated=True)
        if len(self.waiting) >= _MOST_WAITING_FILES or sum(self.waiting.values()) >= _MOST_WAITING_BYTES:
            raise BehindError("intake is behind: what was sent before is not read yet", hint="try again")
        name = f"{self.next:012d}-{hashed}-{digest}-{lines}.jsonl"
        self._publish(name, body)
        self._sync_names()
        return Push(lines)

    def _publish(self, name: str, body: bytes) -> None:
        """Let a file appear whole. From then on it is read and known, whatever fails behind it."""
        temporary = os.path.join(self.path, f".{name}")
        try:
            with open(temporary, "wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                os.remove(temporary)  # a full disk is not filled with what nobody reads
            raise
        os.rename(temporary, os.path.join(self.path, name))
        self.next, self.unsynced = self.next + 1, True
        self._know(name, len(body))

    def _sync_names(self) -> None:
        if self.unsynced:
            sync_to_disk(self.path)
            self.unsynced = False

    def put_aside(self, names: Iterable[str]) -> None:
        """Take files that were read out of the way, once their keys are in the log."""
        gone = [match for name in names if (match := PUSHED_NAME.fullmatch(name)) is not None]
        keyed = [_log_line(match[2], match[3], int(match[4])) for match in gone if match[2] != "none"]
        with open(os.path.join(self.path, _LOG), "ab") as file:
            file.write("".join(keyed).encode())
            file.flush()
            os.fsync(file.fileno())
        self.logged += len(keyed)
        for match in gone:
            os.rename(os.path.join(self.path, match[0]), os.path.join(self.aside, match[0]))
            self.waiting.pop(match[0], None)
        for folder in (self.path, self.aside):
            # or one that no position names might be read again
            sync_to_disk(folder)
        self._shorten_log()

    def remove_unnamed(self, position: Mapping[str, FileCursor]) -> None:
        """Remove what was put aside, but for the files that a position names, by inode or by name."""
        names = {os.path.basename(cursor.path) for cursor in position.values()}
        for entry in [*os.scandir(self.aside)]:
            if entry.name not in names and file_identity(entry.stat()) not in position:
                os.remove(entry.path)


def _log_line(key: str, digest: str, count: int) -> str:
    return json.dumps([key, digest, count]) + "\n"


def _end_line(path: str) -> None:
    """Cut off a line that a crash left half written."""
    with open(path, "rb+") as file:
        text = file.read()
        if not text.endswith(b"\n"):
            file.truncate(text.rfind(b"\n") + 1)


class PushDoor:
    """Takes records for the streams of a service that are declared FROM 'push:'."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = Lock()
        self._folders: dict[str, _PushedFolder] = {}  # by path

    def takes(self, stream: StreamDef) -> bool:
        """Whether records are sent to a stream."""
        return stream.source is not None and os.path.dirname(stream.source.path) == self._folder

    def open(self, stream: StreamDef) -> None:
        """Make the folder of a stream."""
        if stream.source is not None:
            make_folder(stream.source.path)

    def clear(self, streams: Iterable[StreamDef]) -> None:
        """Remove the folders of streams that are gone."""
        kept = {os.path.basename(one.source.path) for one in streams if one.source is not None}
        for name in os.listdir(self._folder) if os.path.isdir(self._folder) else []:
            if name not in kept:
                shutil.rmtree(os.path.join(self._folder, name), ignore_errors=True)

    def push(self, stream: StreamDef, body: bytes, key: str | None) -> Push:
        """Keep the lines of a request for a stream; when this returns they are durable."""
        if not self.takes(stream) or stream.source is None:
            hint = f"CREATE STREAM {stream.name} (...) ... FROM '{PUSHED}'"
            raise SeineError(f"no records are sent to stream {stream.name}: it has another source", hint=hint)
        if not body.strip():
            raise SeineError("the body has no records", hint="send JSON Lines: one object a line")
        with self._lock:
            folder = self._known(stream.source.path)
            return folder.take(body if body.endswith(b"\n") else body + b"\n", key)

    def _known(self, path: str) -> _PushedFolder:
        if path not in self._folders:
            self._folders[path] = _PushedFolder.read(path)
        return self._folders[path]

    def settle(self, streams: Iterable[StreamDef], states: Mapping[str, StreamState]) -> None:
        """Put aside what an entry that is delivered has read to its end; remove what no position names."""
        for stream in streams:
            state = states.get(stream.name)
            if state is not None and state.position and self.takes(stream) and stream.source is not None:
                with self._lock:
                    folder = self._known(stream.source.path)
                    folder.remove_unnamed(state.position)
                    if done := [name for name in folder.waiting if _is_read(folder, name, state)]:
                        folder.put_aside(done)


def _is_read(folder: _PushedFolder, name: str, state: StreamState) -> bool:
    path = os.path.join(folder.path, name)
    cursor = state.position.get(file_identity(os.stat(path)))
    if not isinstance(cursor, LineCursor) or is_other_push(cursor.path, path):
        return False
    return cursor.offset >= folder.waiting[name]
