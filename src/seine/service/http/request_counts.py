"""How many requests a service has answered, by route and status: so many series as there are routes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
