"""The folder of a service that is stopped: what is registered can be looked at and dropped.

A service whose pipeline cannot run, whatever the reason, can be mended this way: no source is opened and
nothing runs. It is the same service otherwise, with the same lock, catalog and network versions.
"""

from __future__ import annotations

from seine.intake.journal import Entry
from seine.lifecycle.edit import Outcome
from seine.service.access.principal import LOCAL
from seine.service.answers import OutcomeAnswer, QueryAnswer, StatusAnswer, StreamAnswer
from seine.service.folder import ServiceFolder
from seine.service.related import outcome_answer
from seine.service.service import Service, ServiceOptions


class StoppedFolder:
    """Holds the folder until it is closed, so that nobody serves it meanwhile."""

    def __init__(self, path: str) -> None:
        self._service = Service(ServiceFolder(path), ServiceOptions(depth=1, reading=False))

    def drop(self, name: str) -> OutcomeAnswer:
        """Drop a query; what is written and not delivered goes on without it.

        One that was dropped before is dropped from such entries when the folder is opened.
        """
        view = self._service.registrar.view
        waiting = [entry for entry in self._service.deployment.journal.entries() if self._waits(entry)]
        gone = {one for entry in waiting for one in entry.withheld if one.lower() == name.lower()}
        if name.lower() not in view.registered and gone:
            first = min(one.number for one in waiting)
            return outcome_answer(Outcome(view.version, first, dropped=tuple(gone)))
        outcome = self._service.changes.drop(LOCAL, name)
        self._service.registrar.withhold_gone(self._service.sink.totals.entry)
        return outcome_answer(outcome)

    def _waits(self, entry: Entry) -> bool:
        return entry.number > self._service.sink.totals.entry

    def queries(self) -> list[QueryAnswer]:
        """Every query with what it has delivered, in the order of registration."""
        return self._service.queries()

    def streams(self) -> list[StreamAnswer]:
        """Every stream as of the last entry."""
        return self._service.streams()

    def status(self) -> StatusAnswer:
        """What the service had come to when it stopped."""
        return {**self._service.status(), "process": 0}

    def close(self) -> None:
        self._service.close()
