"""The audit log of a service: a JSON line for every change that somebody asked for, done or refused.

    audit.jsonl, audit.jsonl.1 (the one before), ..., audit.jsonl.9

A change is permitted by role and owner, and then noted. Names are in the log, texts of scripts and tokens
never. A line is on disk before the answer leaves. Files are opened for each line, so that commands may write
to the log of a service that runs.

Law: a change that is true has its line, whatever is killed. The lines of a change are in the catalog, by the
transaction that makes it true; a service that is opened appends those that the log does not have.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from seine.disk_sync import folder_of, sync_to_disk
from seine.errors import SeineError
from seine.lifecycle.edit import AuditNote, Outcome
from seine.lifecycle.registrar import Registrar
from seine.runtime.folder.failures import Failure
from seine.service.access.principal import Principal

_MOST_BYTES = 64 << 20  # of a file, before another one is begun
_MOST_OLD_FILES = 9
_PRIVATE = 0o600


_logger = logging.getLogger(__name__)


class AuditLog:
    """Appends to the log of a service; any thread and any process may."""

    def __init__(
        self,
        path: str,
        most_bytes: int = _MOST_BYTES,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.path = path
        self._most_bytes, self._now = most_bytes, now
        self._writing, self._owed = Lock(), list[str]()

    def note(self, who: Principal, action: str, outcome: str, **facts: Any) -> None:
        """Append a line; when this returns it is on disk."""
        self.append(self.line(who, action, outcome, **facts))

    def line(self, who: Principal, action: str, outcome: str, **facts: Any) -> str:
        """A line of something that happens now."""
        known = {name: fact for name, fact in facts.items() if fact not in (None, [], ())}
        line = {
            "time": self._now().isoformat(timespec="milliseconds"),
            "who": who.name,
            "role": who.role,
            "action": action,
            "outcome": outcome,
            **known,
        }
        return json.dumps(line, ensure_ascii=True)

    def append(self, line: str) -> None:
        """Append a line that `line` has made, behind those that are owed; when this returns it is on disk."""
        with self._writing:
            text = b"".join(one.encode() + b"\n" for one in (*self._owed, line))
            folder = os.open(os.path.dirname(self.path), os.O_RDONLY)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX)  # nobody else appends, or begins another file, meanwhile
                self._rotate(len(text))
                self._append(text)
            finally:
                os.close(folder)
            self._owed.clear()

    def append_or_owe(self, line: str) -> None:
        """Append the line of a change that is true, which the catalog has; without room it is owed."""
        try:
            self.append(line)
        except OSError as error:
            _logger.warning("audit log not written", extra={"reason": error.strerror})
            with self._writing:
                self._owed.append(line)

    def owed(self) -> list[str]:
        """The lines that are not in the log yet, which the next one brings with it."""
        with self._writing:
            return [*self._owed]

    def append_missing(self, lines: Sequence[str]) -> None:
        """Append the lines that are not among those of the last two files."""
        missing = dict.fromkeys(lines)
        for path in (f"{self.path}.1", self.path):
            if missing and os.path.exists(path):
                with open(path, encoding="ascii", errors="replace") as file:
                    for line in file:
                        missing.pop(line.rstrip("\n"), None)
        for line in missing:
            self.append(line)

    def _append(self, text: bytes) -> None:
        is_new = not os.path.exists(self.path)
        with open(self.path, "ab", buffering=0, opener=_open_private) as file:
            before = file.tell()
            try:
                while text:
                    text = text[file.write(text) :]
                os.fsync(file.fileno())
            except OSError:
                os.ftruncate(file.fileno(), before)  # half a line would spoil the next one
                raise
        if is_new:
            sync_to_disk(folder_of(self.path))

    def _rotate(self, more: int) -> None:
        """Begin another file if this one would get too long; the oldest one goes."""
        if not os.path.exists(self.path) or os.path.getsize(self.path) + more <= self._most_bytes:
            return
        for number in range(_MOST_OLD_FILES, 0, -1):
            older = self.path if number == 1 else f"{self.path}.{number - 1}"
            if os.path.exists(older):
                os.replace(older, f"{self.path}.{number}")


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, _PRIVATE)


_SERVICE = Principal("service", "admin")
_SECONDS_APART = 60  # lines of what a role does not allow, of one principal and one action


class AuditedChanges:
    """The registrar as people use it; whether they may is decided when their change has its turn."""

    def __init__(
        self, registrar: Registrar, log: AuditLog, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._registrar, self._log, self._clock = registrar, log, clock
        self._counting = Lock()
        self._refused: dict[tuple[Principal, str], tuple[float, int]] = {}  # the last line, and those since

    def register(self, who: Principal, text: str, *, file: str, folder: str, replace: bool) -> Outcome:
        """Carry out a script for somebody."""

        def change() -> Outcome:
            notes = [self._note(who, "register", file=file)]
            return self._registrar.register(
                text, file=file, folder=folder, replace=replace, by=who, notes=notes
            )

        return self._noted(who, "register", change, file=file)

    def drop(self, who: Principal, name: str) -> Outcome:
        notes = [self._note(who, "drop", query=name)]
        return self._noted(who, "drop", lambda: self._registrar.drop(name, by=who, notes=notes), query=name)

    def pause(self, who: Principal, name: str) -> Outcome:
        notes = [self._note(who, "pause", query=name)]
        return self._noted(who, "pause", lambda: self._registrar.pause(name, by=who, notes=notes), query=name)

    def resume(self, who: Principal, name: str) -> Outcome:
        notes = [self._note(who, "resume", query=name)]

        def change() -> Outcome:
            return self._registrar.resume(name, by=who, notes=notes)

        return self._noted(who, "resume", change, query=name)

    def quarantine(self, failures: Mapping[str, Failure]) -> None:
        """Pause queries that the service itself will not let go on, and note why."""
        notes = [
            self._note(_SERVICE, "pause", query=name, reason=failure.reason)
            for name, failure in failures.items()
        ]
        self._registrar.quarantine(failures, notes)

    def _note(self, who: Principal, action: str, **facts: Any) -> AuditNote:
        """How the log will have a change, when it is known what it does."""

        def line(**done: Any) -> str:
            return self._log.line(who, action, "done", **facts, **done)

        return AuditNote(line, self._log.append_or_owe, self._log.owed)

    def _noted(self, who: Principal, action: str, change: Callable[[], Outcome], **facts: Any) -> Outcome:
        """The outcome of a change; one that is refused is noted here, with the reason."""
        try:
            return change()
        except SeineError as error:
            self.note_refusal(who, action, error, **facts)
            raise

    def note_refusal(self, who: Principal, action: str, error: SeineError, **facts: Any) -> None:
        """Note what somebody asked for and was refused."""
        place = None if error.where is None else str(error.where)
        self._log.note(who, action, "refused", reason=error.message, where=place, **facts)

    def note_forbidden(self, who: Principal, action: str, error: SeineError, **facts: Any) -> None:
        """Note what a role does not allow, once a minute; the next line has how many it stands for.

        So no reader can push the changes out of the log. Nothing was changed: without room the line is lost.
        """
        repeats = self._repeats(who, action)
        if repeats is None:
            return
        try:
            self.note_refusal(who, action, error, repeats=repeats or None, **facts)
        except OSError as failure:
            _logger.warning("audit log not written", extra={"reason": failure.strerror})

    def _repeats(self, who: Principal, action: str) -> int | None:
        """How many refusals have had no line since the last one; None if this one has none either."""
        now = self._clock()
        with self._counting:
            last, repeats = self._refused.get((who, action), (None, 0))
            if last is not None and now < last + _SECONDS_APART:
                self._refused[who, action] = last, repeats + 1
                return None
            self._refused[who, action] = now, 0
            return repeats
