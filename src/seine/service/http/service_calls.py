"""How handlers of requests reach the service that they answer for."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request

from seine.service.access.principal import Principal
from seine.service.console.console_questions import ConsoleQuestions
from seine.service.http.daemon_threads import DaemonThreads, SharedReads
from seine.service.http.request_counts import RequestCounts
from seine.service.http.route_roles import asker
from seine.service.http.wakeup import Wakeup
from seine.service.service import Service

_MOST_READS = 32  # at a time
_MOST_TAILS = 2  # reads of records at a time: hundreds may wait for the same micro-batch
_MOST_CHANGES = 16  # at a time: they take turns, but for what they read from databases before


class ServiceCalls:
    """The service that an application speaks for, and how its handlers wait for it."""

    def __init__(self, service: Service, wakeup: Wakeup) -> None:
        self.service = service
        self.console = ConsoleQuestions(service)
        self.wakeup = wakeup
        self.requests = RequestCounts()
        self.reads = DaemonThreads(_MOST_READS)
        self.tails = SharedReads(_MOST_TAILS)
        self.changes = DaemonThreads(_MOST_CHANGES)


async def _calls(request: Request) -> ServiceCalls:
    return cast(ServiceCalls, request.app.state.calls)


Calls = Annotated[ServiceCalls, Depends(_calls)]


async def _who(request: Request) -> Principal:
    return asker(request)


Asker = Annotated[Principal, Depends(_who)]
