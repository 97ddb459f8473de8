"""The HTTP server: who may ask, how much, and how a refusal looks. What is asked is in api.py."""

from __future__ import annotations

import hmac
import ipaddress
import json
import re
import socket
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from seine.errors import RunError, SeineError, TakenError
from seine.service.api import ROUTES, ApiRoute, Request
from seine.service.openapi import description
from seine.service.present import MissingError
from seine.service.service import Service
from seine.service.tail import TailedRecords

MOST_BODY = 64 << 20
_DESCRIPTION = "/v1/openapi.json"
_SECONDS = 30.0  # a client that says nothing for so long is let go
_LONGEST_REQUEST = 300.0  # so long a request may take to arrive, however it trickles in
_MOST_CONNECTIONS = 512  # at a time: each has a thread
_LEAST_TOKEN = 16


@dataclass(frozen=True)
class Listening:
    """Where to listen and whom to let in."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str | None = None
    most_body: int = MOST_BODY
    most_connections: int = _MOST_CONNECTIONS
    longest_request: float = _LONGEST_REQUEST


class Refusal(Exception):
    """An answer that is no success."""

    def __init__(self, status: HTTPStatus, error: SeineError, **headers: str) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error
        self.headers = headers


class Server:
    """Answers requests on threads of its own until it is closed."""

    def __init__(self, service: Service, listening: Listening) -> None:
        refuse_open_door(listening)
        try:
            self._server = _Server(service, listening)
        except OSError as error:
            raise SeineError(
                f"cannot listen on {listening.host}:{listening.port}: {error.strerror or error}",
                hint="name another --host or --port",
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{shown}:{port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def refuse_open_door(listening: Listening) -> None:
    """Whoever listens beyond this machine needs a token, and a long one."""
    if listening.token is None and not is_loopback(listening.host):
        raise SeineError(
            f"listening on {listening.host} needs a token: anybody who can reach it could register queries",
            hint="name a file with --token-file or set SEINE_TOKEN, or listen on 127.0.0.1",
        )
    if listening.token is not None and len(listening.token) < _LEAST_TOKEN:
        raise SeineError(
            f"the token is too short to protect anything: {len(listening.token)} characters",
            hint=f"at least {_LEAST_TOKEN}; e.g. openssl rand -hex 32",
        )


def is_loopback(host: str) -> bool:
    """Does this name stand for this machine alone?

    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("")
    (True, True, False, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, service: Service, listening: Listening) -> None:
        self.service = service
        self.listening = listening
        self.address_family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
        self.arriving: dict[socket.socket, float] = {}  # since when a request is expected or arrives
        self._free = threading.BoundedSemaphore(listening.most_connections)
        super().__init__((listening.host, listening.port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Whoever comes when all threads are taken is sent away at once."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.arriving.pop(request, None)
            self._free.release()

    def service_actions(self) -> None:
        """Hang up on clients whose requests do not get done."""
        late = time.monotonic() - self.listening.longest_request
        for connection, since in list(self.arriving.items()):
            if since < late:
                with suppress(OSError):  # it has gone by itself
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no news; anything else is ours."""
        if not isinstance(sys.exception(), OSError):
            traceback.print_exc()


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "Seine"
    sys_version = ""
    timeout = _SECONDS

    def handle_one_request(self) -> None:
        self.server.arriving[self.connection] = time.monotonic()
        super().handle_one_request()

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_DELETE = do_PUT = do_PATCH = do_OPTIONS = do_HEAD = do_GET

    def _serve(self) -> None:
        try:
            self._let_in()
            self._answer()
        except Refusal as refusal:
            self._refuse(refusal.status, refusal.error, refusal.headers)
        except MissingError as error:
            self._refuse(HTTPStatus.NOT_FOUND, error)
        except TakenError as error:
            self._refuse(HTTPStatus.CONFLICT, error)
        except RunError as error:
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, error)
        except SeineError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, error)
        except OSError:
            raise
        except Exception as error:
            traceback.print_exc()
            reason = SeineError(f"internal error: {type(error).__name__}", hint="the service's log says more")
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, reason)

    def _let_in(self) -> None:
        """The token; and no page of some other site, which a browser of this machine might have open."""
        listening = self.server.listening
        if listening.token is not None:
            given = self.headers.get("Authorization", "").encode()
            if not hmac.compare_digest(given, f"Bearer {listening.token}".encode()):
                error = SeineError("the token is missing or wrong", hint="send Authorization: Bearer TOKEN")
                raise Refusal(HTTPStatus.UNAUTHORIZED, error, **{"WWW-Authenticate": "Bearer"})
        elif not is_loopback(_hostname(self.headers.get_all("Host", []))):
            raise Refusal(HTTPStatus.FORBIDDEN, SeineError("this service answers to localhost only"))
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{self.headers.get('Host')}":
            raise Refusal(HTTPStatus.FORBIDDEN, SeineError("requests from other sites are refused"))

    def _answer(self) -> None:
        try:
            target = urlsplit(self.path)
        except ValueError:
            raise SeineError("this is no address") from None
        if target.path == _DESCRIPTION and self.command == "GET":
            self._send_json(HTTPStatus.OK, description())
            return
        route, names = self._route(target.path)
        words = dict(parse_qsl(target.query, keep_blank_values=True))
        for word in words:
            if word not in route.words:
                raise SeineError(f"unknown parameter '{word}'", hint=_possible(route.words))
        request = Request(names, words, self._body(route))
        self.server.arriving.pop(self.connection, None)
        try:
            answer = route.answer(self.server.service, request)
        except OSError as error:  # of a disk, say; what happens to a connection is no answer's business
            raise RunError(f"the service failed: {error.strerror or error}") from error
        if isinstance(answer, TailedRecords):
            self._send(HTTPStatus.OK, answer.lines, "application/x-ndjson", {"Seine-Next": str(answer.next)})
        else:
            self._send_json(HTTPStatus.OK, answer)

    def _route(self, path: str) -> tuple[ApiRoute, dict[str, str]]:
        found = [(route, names) for route in ROUTES if (names := route.match(path)) is not None]
        for route, names in found:
            if route.method == self.command:
                return route, names
        if found:
            allowed = ", ".join(sorted(route.method for route, _ in found))
            error = SeineError(f"{self.command} is not possible on {path}", hint=f"possible: {allowed}")
            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, error, Allow=allowed)
        raise Refusal(HTTPStatus.NOT_FOUND, SeineError(f"there is no {path}", hint=f"see {_DESCRIPTION}"))

    def _body(self, route: ApiRoute) -> dict[str, Any]:
        """The body, checked against the route's schema; it is not read if it is too large."""
        size = self._size()
        if route.body is None:
            if size:
                raise Refusal(HTTPStatus.BAD_REQUEST, SeineError("this request takes no body"))
            return {}
        if self.headers.get_content_type() != "application/json":
            given = self.headers.get("Content-Type", "no Content-Type")
            error = SeineError(f"the body must be application/json, not {given}")
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, error)
        if size is None:
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, SeineError("a body needs a Content-Length"))
        if size > self.server.listening.most_body:
            error = SeineError(
                f"the body has {size} bytes, more than the {self.server.listening.most_body} that are taken",
                hint="register a large script in parts, or start the service with a larger --max-body",
            )
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error)
        return _checked(self.rfile.read(size), route.body)

    def _size(self) -> int | None:
        if "Transfer-Encoding" in self.headers:
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, SeineError("a body needs a Content-Length"))
        lengths = self.headers.get_all("Content-Length", [])
        if not lengths:
            return None
        text = lengths[0]
        if len(lengths) > 1 or not text.isascii() or not text.isdigit() or len(text) > 18:
            raise Refusal(HTTPStatus.BAD_REQUEST, SeineError("Content-Length is no number"))
        return int(text)

    def _refuse(self, status: HTTPStatus, error: SeineError, headers: dict[str, str] | None = None) -> None:
        # The body may not have been read: what follows on this connection would be nonsense.
        self.close_connection = True
        self._send_json(status, {"error": _error_form(error)}, {"Connection": "close", **(headers or {})})

    def _send_json(self, status: HTTPStatus, form: Any, headers: dict[str, str] | None = None) -> None:
        # A name may hold half a character: it goes back as it came, as a JSON escape.
        content = json.dumps(form, ensure_ascii=False).encode(errors="backslashreplace")
        self._send(status, content, "application/json", headers or {})

    def _send(self, status: HTTPStatus, content: bytes, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the library refuses by itself: a request that is no HTTP, a header too long."""
        status = HTTPStatus(code)
        self._refuse(status, SeineError(message or status.phrase))

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""


def _checked(content: bytes, schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON object with the properties of a schema, and no others."""
    try:
        form = json.loads(content)
    except (ValueError, RecursionError):
        raise SeineError("the body is no JSON") from None
    if not isinstance(form, dict):
        raise SeineError("the body must be a JSON object")
    properties = schema["properties"]
    for name, value in form.items():
        if name not in properties:
            raise SeineError(f"unknown property '{name}'", hint=_possible(properties))
        if not isinstance(value, {"string": str, "boolean": bool}[properties[name]["type"]]):
            raise SeineError(f"'{name}' must be a {properties[name]['type']}")
        if isinstance(value, str) and re.search("[\0\ud800-\udfff]", value):
            raise SeineError(f"'{name}' has a character that is none", hint="leave out U+0000 and surrogates")
    for name in schema["required"]:
        if name not in form:
            raise SeineError(f"'{name}' is missing")
    return form


def _hostname(hosts: list[str]) -> str:
    """The name in the one Host header that a request must have."""
    try:
        return urlsplit(f"//{hosts[0]}").hostname or "" if len(hosts) == 1 else ""
    except ValueError:
        return ""


def _possible(names: Any) -> str:
    return f"possible: {', '.join(names)}" if names else "there are none"


def _error_form(error: SeineError) -> dict[str, Any]:
    form: dict[str, Any] = {"message": error.message}
    if error.where is not None:
        form["where"] = {"file": error.where.file, "line": error.where.line, "column": error.where.column}
    if error.hint is not None:
        form["hint"] = error.hint
    return form
