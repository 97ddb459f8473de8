"""How handlers of requests reach the service that they answer for.

Blocking calls of an event loop, each on a thread of its own, so many at a time.

The threads are daemons: a process that is told to stop does not wait for a long registration, which a crash
would not harm either.

How many requests a service has answered, by route and status: so many series as there are routes.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seine.service.access.principal import Principal
from seine.service.console.console_questions import ConsoleQuestions
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


Result = TypeVar("Result")


class DaemonThreads:
    """Runs blocking calls for coroutines; whoever comes when `most` are running waits for a turn."""

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)

    async def run(self, call: Callable[[], Result]) -> Result:
        """The result of `call`, or what it raises."""
        async with self._free:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[Result] = loop.create_future()

            def work() -> None:
                try:
                    result = call()
                except BaseException as error:
                    _settle(loop, future, future.set_exception, error)
                else:
                    _settle(loop, future, future.set_result, result)

            threading.Thread(target=work, name="seine-http-call", daemon=True).start()
            return await future


class SharedReads:
    """Reads of which those that are alike are one, for all who ask while it runs: many follow one query.

    Few run at a time: each thread that is ready to run takes a share of the interpreter from the one that
    delivers micro-batches.
    """

    def __init__(self, most: int) -> None:
        self._threads = DaemonThreads(most)
        self._running: dict[Hashable, asyncio.Task[Any]] = {}

    async def run(self, key: Hashable, read: Callable[[], Result]) -> Result:
        """The result of `read`; equal keys stand for reads that would give the same."""
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.ensure_future(self._threads.run(read))
            task.add_done_callback(lambda done: self._forget(key, done))
        result: Result = await asyncio.shield(task)  # one who leaves does not take it from the others
        return result

    def _forget(self, key: Hashable, done: asyncio.Task[Any]) -> None:
        del self._running[key]
        if not done.cancelled():
            done.exception()  # it has been told to whoever still waited


def _settle(
    loop: asyncio.AbstractEventLoop,
    future: asyncio.Future[Result],
    setter: Callable[..., None],
    outcome: object,
) -> None:
    def settle() -> None:
        if not future.cancelled():
            setter(outcome)

    with suppress(RuntimeError):  # the loop was closed while the call ran: nobody waits
        loop.call_soon_threadsafe(settle)


_NO_ROUTE = "other"  # paths that there are not, and requests that are refused before they are routed


@dataclass
class RequestCounts:
    """Requests by method, route and class of status, and the seconds until they were answered, by route.

    The thread of the server's loop counts; others may copy. A request that waits for records waits in these
    seconds, too.
    """

    requests: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def note(self, scope: Mapping[str, Any], status: int, seconds: float) -> None:
        """A request has been answered."""
        route = getattr(scope.get("route"), "path", _NO_ROUTE)
        method = scope["method"] if route != _NO_ROUTE else _NO_ROUTE
        self.requests[method, route, f"{status // 100}xx"] += 1
        self.seconds[route] = self.seconds.get(route, 0.0) + seconds


class CountedRequests:
    """Counts what an ASGI application answers; it must be called with the scope that it routes by."""

    def __init__(self, app: ASGIApp, counts: RequestCounts) -> None:
        self._app, self._counts = app, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, statuses = time.monotonic(), []

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            if statuses:
                self._counts.note(scope, statuses[0], time.monotonic() - started)
