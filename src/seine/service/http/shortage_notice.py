"""What clients are told while a service has given up its folder and waits for room or memory."""

from __future__ import annotations

import asyncio
import threading
from http import HTTPStatus

import uvicorn
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from seine.errors import SeineError
from seine.service.http.listening import Listening
from seine.service.http.refusals import Refusal, refusal_answer
from seine.service.http.server import AccessGuard, configuration, listen_at
from seine.service.http.service_calls import RequestCounts
from seine.shortages import FULL_DISK

_HINT = "nothing was changed: the service goes on by itself when there is room; ask again then"


class ShortageNotice:
    """Refuses every request with the reason, on a thread of its own, until it is closed.

    Who may not ask is refused as ever, and the process is alive, but not ready.
    """

    def __init__(self, shortage: str, listening: Listening) -> None:
        self._shortage = shortage
        self._socket = listen_at(listening)
        guard = AccessGuard(self._answer, listening, RequestCounts())
        self._server = uvicorn.Server(configuration(guard, listening))
        self._thread = threading.Thread(target=self._run, name="seine-shortage", daemon=True)
        try:
            self._thread.start()
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        """Let go of the address."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer_to(scope["path"])(scope, receive, send)

    def _answer_to(self, path: str) -> Response:
        if path == "/healthz":
            return Response("alive\n", media_type="text/plain")
        if path == "/readyz":
            return Response(f"{self._shortage}\n", HTTPStatus.SERVICE_UNAVAILABLE, media_type="text/plain")
        full = self._shortage == FULL_DISK
        status = HTTPStatus.INSUFFICIENT_STORAGE if full else HTTPStatus.SERVICE_UNAVAILABLE
        return refusal_answer(Refusal(status, SeineError(self._shortage, hint=_HINT)))
