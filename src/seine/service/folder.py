"""The folder that a service lives in, and the lock that keeps it to one process.

catalog.db      what is declared: the truth after a crash
pipeline/       the pipeline's own folder: journal, network versions, state
results.jsonl   the records of all queries; later segments are results-<position>.jsonl
input/          files that may be read FROM without --source-root
output/         folders that sinks may write INTO without --sink-root
dead.jsonl      lines that were refused
undelivered/    by sink, the records that a webhook did not take
audit.jsonl     who changed what, and when
tokens.json     names, roles and digests of tokens, if there are any
snapshots/      of the folder, while a backup is made of it
samples/        a sample of each stream, for plans
service.json    where the service listens, while it does
lock            held by the one process that serves
"""

from __future__ import annotations

import fcntl
import json
import os
from typing import Any

from seine.disk_sync import make_folder, sweep_temporaries, write_whole
from seine.errors import SeineError
from seine.intake.files import lies_within
from seine.runtime.folder.settings import read_record
from seine.runtime.output.overwriting import refuse_inside, refuse_remote


class ServiceFolder:
    """Names of what is in the folder of a service."""

    def __init__(self, path: str) -> None:
        self._named = path
        self.path = os.path.abspath(path)
        self.catalog = os.path.join(self.path, "catalog.db")
        self.pipeline = os.path.join(self.path, "pipeline")
        self.results = os.path.join(self.path, "results.jsonl")
        self.dead = os.path.join(self.path, "dead.jsonl")
        self.undelivered = os.path.join(self.path, "undelivered")
        self.input = os.path.join(self.path, "input")
        self.output = os.path.join(self.path, "output")
        self.audit = os.path.join(self.path, "audit.jsonl")
        self.tokens = os.path.join(self.path, "tokens.json")
        self.samples = os.path.join(self.path, "samples")
        self.snapshots = os.path.join(self.path, "snapshots")
        self._address = os.path.join(self.path, "service.json")

    @property
    def pushed(self) -> str:
        """The records that programs have sent, until they are read."""
        return os.path.join(self.path, "pushed")

    def refuse_inside(self, source: str) -> None:
        """Refuse a source that is a file of the service's: each entry would make more of it to read."""
        if not lies_within(source, map(os.path.realpath, (self.input, self.output))):
            refuse_inside(self.path, source, "the service")

    def holds(self, path: str) -> bool:
        """Whether a path lies in the folder, links followed."""
        return lies_within(path, [os.path.realpath(self.path)])

    def lock(self) -> FolderLock:
        """Take the folder for this process, making it if it is not there."""
        refuse_remote(self._named, "the folder")
        return FolderLock(self.path)

    def publish(self, address: dict[str, Any]) -> None:
        """Let clients find the service."""
        write_whole(self._address, json.dumps(address, indent=1).encode())

    def recover(self) -> None:
        """Remove files that a kill kept from becoming whole; whoever writes beside us holds the folder."""
        handle = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            for place in (self.path, self.samples):
                sweep_temporaries(place)
        finally:
            os.close(handle)

    def withdraw(self) -> None:
        """Take back what this process has published."""
        if os.path.exists(self._address) and self.address().get("process") == os.getpid():
            os.remove(self._address)

    def address(self) -> dict[str, Any]:
        """Where the service of this folder listens."""
        if not os.path.exists(self._address):
            raise SeineError(
                f"no service runs in '{self.path}'",
                hint="start one: seine serve FOLDER; or name its folder or address with --service",
            )
        return read_record(self._address, dict[str, Any])


def is_stopped(path: str) -> bool:
    """Whether a service lives in a folder and nobody serves it at the moment."""
    if "://" in path or not os.path.exists(ServiceFolder(path).catalog):
        return False
    with open(os.path.join(path, "lock"), "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


class FolderLock:
    """Holds a folder until it is released, or the process dies."""

    def __init__(self, path: str) -> None:
        try:
            make_folder(path)
            self._file = open(os.path.join(path, "lock"), "ab")  # noqa: SIM115 - release() closes it
        except OSError as error:
            raise SeineError(
                f"cannot keep a service in '{path}': {error.strerror}",
                hint="name a folder that you may write to",
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise SeineError(
                f"another process serves '{path}'", hint="stop it first, or name another folder"
            ) from error

    def release(self) -> None:
        self._file.close()
