"""Changes of a service that somebody asks for: permitted by role and owner, and noted in the audit log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from seine.errors import SeineError
from seine.lifecycle.edit import AuditNote, Outcome
from seine.lifecycle.registrar import Registrar
from seine.runtime.folder.failures import Failure
from seine.service.access.audit_log import AuditLog
from seine.service.access.principal import Principal

_SERVICE = Principal("service", "admin")
_SECONDS_APART = 60  # lines of what a role does not allow, of one principal and one action

_logger = logging.getLogger(__name__)


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
