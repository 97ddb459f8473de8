"""The HTTP server: uvicorn on a thread of the service's process, and who may ask.

Every request is checked before it is routed: sizes of the head, the method, the address, the token or the
Host header, the Origin header, in this order. Nothing of the body has been read by then. While a service has
given up its folder and waits for room or memory, every request that passes is refused with that reason.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import urlsplit

import uvicorn
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from seine.errors import SeineError
from seine.service.access.principal import LOCAL, Principal
from seine.service.console.console_files import CONSOLE_PATHS
from seine.service.http.app import make_app
from seine.service.http.connection import guarded_connections
from seine.service.http.listening import Listening, is_loopback, refuse_open_door
from seine.service.http.monitoring import PROBES
from seine.service.http.refusals import Refusal, refusal_answer
from seine.service.http.route_roles import PRINCIPAL
from seine.service.http.service_calls import CountedRequests, RequestCounts, ServiceCalls
from seine.service.http.wakeup import Wakeup
from seine.service.service import Service
from seine.shortages import FULL_DISK

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
        self._socket = listen_at(listening)
        self._wakeup = Wakeup()
        self._loop = asyncio.new_event_loop()
        app = make_app(service, self._wakeup, listening.most_body)
        self._calls: ServiceCalls = app.state.calls
        guard = AccessGuard(app, listening, self._calls.requests)
        self._server = uvicorn.Server(configuration(guard, listening))
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


def configuration(app: AccessGuard, listening: Listening) -> uvicorn.Config:
    """How whoever listens there speaks HTTP."""
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


def listen_at(listening: Listening) -> socket.socket:
    """The socket that takes connections there."""
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


MOST_HEAD_LINE = 1 << 16  # bytes of a request line or a header
_MOST_HEADERS = 100
_BEARER = "Bearer "
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_OPEN_PATHS = PROBES | CONSOLE_PATHS.keys()  # they tell nothing of what is served

_logger = logging.getLogger(__name__)


class AccessGuard:
    """Lets requests through to an ASGI application that may be answered; refuses the others."""

    def __init__(self, app: ASGIApp, listening: Listening, counts: RequestCounts) -> None:
        self._app = CountedRequests(app, counts)
        self._listening, self._counts = listening, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            _refuse_long_head(scope)
            _refuse_unknown_protocol(scope)
            routed = {**scope, **_address(scope)}
            scope["state"][PRINCIPAL] = self._let_in(scope, open_to_all=routed["path"] in _OPEN_PATHS)
        except (Refusal, SeineError) as error:
            refusal = error if isinstance(error, Refusal) else Refusal(HTTPStatus.SERVICE_UNAVAILABLE, error)
            await refusal_answer(refusal)(scope, receive, send)
            self._counts.note(scope, refusal.status, 0.0)
            return
        try:
            await self._app(routed, receive, send)
        except Exception:  # it has been answered: see app.py
            _logger.exception("internal error")

    def _let_in(self, scope: Scope, open_to_all: bool) -> Principal | None:
        """Who asks; and no page of another site, which a browser of this machine might have open."""
        headers, listening = Headers(scope=scope), self._listening
        if open_to_all and listening.needs_token:
            return None
        who = listening.principal(_bearer(headers))
        if who is None:
            error = SeineError("the token is missing or wrong", hint="send Authorization: Bearer TOKEN")
            raise Refusal(HTTPStatus.UNAUTHORIZED, error, **{"WWW-Authenticate": "Bearer"})
        if who is LOCAL and not is_loopback(_hostname(headers.getlist("Host"))):
            raise Refusal(HTTPStatus.FORBIDDEN, SeineError("this service answers to localhost only"))
        origin = headers.get("Origin")
        if origin is not None and origin != f"{scope['scheme']}://{headers.get('Host')}":
            raise Refusal(HTTPStatus.FORBIDDEN, SeineError("requests from other sites are refused"))
        return who


def _bearer(headers: Headers) -> str | None:
    """The token that a request brings; one that says so twice brings none."""
    given = headers.getlist("Authorization")
    if len(given) != 1 or not given[0].startswith(_BEARER):
        return None
    return given[0].removeprefix(_BEARER)


def _refuse_long_head(scope: Scope) -> None:
    if len(scope["raw_path"]) + len(scope["query_string"]) > MOST_HEAD_LINE:
        raise Refusal(HTTPStatus.REQUEST_URI_TOO_LONG, SeineError("the address is too long"))
    headers = scope["headers"]
    if len(headers) > _MOST_HEADERS or any(len(name) + len(text) > MOST_HEAD_LINE for name, text in headers):
        error = SeineError("the headers are too long, or too many")
        raise Refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, error)


def _refuse_unknown_protocol(scope: Scope) -> None:
    if scope["http_version"] not in ("1.0", "1.1"):
        error = SeineError(f"HTTP/{scope['http_version']} is not spoken here")
        raise Refusal(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, error)
    if scope["method"] not in _METHODS:
        raise Refusal(HTTPStatus.NOT_IMPLEMENTED, SeineError(f"there is no method {scope['method']}"))


def _hostname(hosts: list[str]) -> str:
    """The name in the one Host header that a request must have."""
    try:
        return urlsplit(f"//{hosts[0]}").hostname or "" if len(hosts) == 1 else ""
    except ValueError:
        return ""


def _address(scope: Scope) -> dict[str, object]:
    """The path and query string, as they came: a name in a path may hold an escaped slash.

    >>> _address({"raw_path": b"http://localhost/v1/queries/a%2Fb", "query_string": b"x=1"})
    {'path': '/v1/queries/a%2Fb', 'query_string': b'x=1'}
    """
    text = f"{scope['raw_path'].decode('latin-1')}?{scope['query_string'].decode('latin-1')}"
    try:
        target = urlsplit(f"/{text.lstrip('/')}" if text.startswith("//") else text)
    except ValueError:
        raise Refusal(HTTPStatus.BAD_REQUEST, SeineError("this is no address")) from None
    return {"path": target.path, "query_string": target.query.encode("latin-1")}


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
