"""The HTTP server: uvicorn on a thread of the service's process."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from seine.errors import SeineError
from seine.service.http.access import MOST_HEAD_LINE, AccessGuard
from seine.service.http.app import make_app
from seine.service.http.connection import guarded_connections
from seine.service.http.listening import Listening, refuse_open_door
from seine.service.http.service_calls import ServiceCalls
from seine.service.http.wakeup import Wakeup
from seine.service.service import Service

_BACKLOG = 128  # connections that wait to be accepted
_GRACE_SECONDS = 5  # for answers that are under way when the server is closed


class Server:
    """Answers requests on a thread of its own until it is closed."""

    def __init__(self, service: Service, listening: Listening) -> None:
        refuse_open_door(listening)
        self._service = service
        self._scheme = "http" if listening.certificate is None else "https"
        if listening.certificate is not None:
            listening.certificate.refuse_unusable()
        self._socket = _listen(listening)
        self._wakeup = Wakeup()
        self._loop = asyncio.new_event_loop()
        app = make_app(service, self._wakeup, listening.most_body)
        self._calls: ServiceCalls = app.state.calls
        guard = AccessGuard(app, listening, self._calls.requests)
        self._server = uvicorn.Server(_configuration(guard, listening))
        self._address, self._port = self._socket.getsockname()[:2]
        self._thread = threading.Thread(target=self._run, name="seine-http", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._port)

    @property
    def url(self) -> str:
        shown = f"[{self._address}]" if ":" in self._address else self._address
        return f"{self._scheme}://{shown}:{self._port}"

    def close(self) -> None:
        """Take no more connections, let answers that are under way be finished, and end the thread."""
        self._server.should_exit = True
        self._call_soon(self._wakeup.end)
        self._thread.join()
        self._socket.close()
        self._calls.console.close()

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        unlisten = self._service.publisher.listen(lambda: self._call_soon(self._wakeup.notify))
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            unlisten()

    def _call_soon(self, call: Callable[[], None]) -> None:
        """Let the loop's thread call something, if it is still running."""
        with suppress(RuntimeError):  # the loop has been closed
            self._loop.call_soon_threadsafe(call)


def _configuration(app: AccessGuard, listening: Listening) -> uvicorn.Config:
    certificate = listening.certificate
    return uvicorn.Config(
        app,
        http=guarded_connections(listening),
        ws="none",
        loop="asyncio",
        interface="asgi3",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        headers=[("Server", "Seine"), ("X-Content-Type-Options", "nosniff")],
        backlog=_BACKLOG,
        ssl_certfile=None if certificate is None else certificate.chain,
        ssl_keyfile=None if certificate is None else certificate.key,
        timeout_keep_alive=max(1, round(listening.longest_silence)),
        timeout_graceful_shutdown=_GRACE_SECONDS,
        h11_max_incomplete_event_size=MOST_HEAD_LINE,
    )


def _listen(listening: Listening) -> socket.socket:
    family = socket.AF_INET6 if ":" in listening.address else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((listening.address, listening.port))
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        raise SeineError(
            f"cannot listen on {listening.address}:{listening.port}: {error.strerror or error}",
            hint="name another --host or --port",
        ) from error
    return bound
