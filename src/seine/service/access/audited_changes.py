"""Changes of a service that somebody asks for: permitted by role and owner, and noted in the audit log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from seine.errors import SeineError
from seine.service.access.audit_log import AuditLog
from seine.service.access.principal import Principal
from seine.service.outcome import Outcome
from seine.service.registrar import Registrar

_SERVICE = Principal("service", "admin")


class AuditedChanges:
    """The registrar as people use it; whether they may is decided when their change has its turn."""

    def __init__(self, registrar: Registrar, log: AuditLog) -> None:
        self._registrar, self._log = registrar, log

    def register(self, who: Principal, text: str, *, file: str, folder: str, replace: bool) -> Outcome:
        """Carry out a script for somebody."""

        def change() -> Outcome:
            return self._registrar.register(text, file=file, folder=folder, replace=replace, by=who)

        return self._noted(who, "register", change, file=file)

    def drop(self, who: Principal, name: str) -> Outcome:
        return self._noted(who, "drop", lambda: self._registrar.drop(name, by=who), query=name)

    def pause(self, who: Principal, name: str) -> Outcome:
        return self._noted(who, "pause", lambda: self._registrar.pause(name, by=who), query=name)

    def resume(self, who: Principal, name: str) -> Outcome:
        return self._noted(who, "resume", lambda: self._registrar.resume(name, by=who), query=name)

    def note_paused(self, reasons: Mapping[str, str]) -> None:
        """Note the queries that the service itself has paused, and why."""
        for name, reason in reasons.items():
            self._log.note(_SERVICE, "pause", "done", query=name, reason=reason)

    def _noted(self, who: Principal, action: str, change: Callable[[], Outcome], **facts: Any) -> Outcome:
        """The outcome of a change, noted as done, or as refused with the reason."""
        try:
            outcome = change()
        except SeineError as error:
            place = None if error.where is None else str(error.where)
            self._log.note(who, action, "refused", reason=error.message, where=place, **facts)
            raise
        self._log.note(
            who,
            action,
            "done",
            **facts,
            version=outcome.version,
            entry=outcome.entry,
            registered=list(outcome.registered),
            dropped=list(outcome.dropped),
            declared=list(outcome.declared),
        )
        return outcome
