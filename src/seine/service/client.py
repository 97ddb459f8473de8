"""Asks a service over HTTP; a refusal is raised here as it was raised there."""

from __future__ import annotations

import http.client
import json
import os
import ssl
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from seine.errors import Position, RunError, SeineError
from seine.service.folder import ServiceFolder

_POLL_SECONDS = 20.0
_ANSWER_SECONDS = 600.0  # a large script takes its time


class Client:
    """Speaks to the service at an address, or to the one that runs in a folder."""

    def __init__(self, service: str, token: str | None = None) -> None:
        address = {"url": service} if "://" in service else ServiceFolder(service).address()
        self._url, self._certificate = address["url"], address.get("certificate")
        self._where = urlsplit(self._url)
        if self._where.scheme not in ("http", "https") or not self._where.hostname:
            raise SeineError(
                f"'{service}' is no address of a service",
                hint="http://HOST:PORT, https://HOST:PORT, or its folder",
            )
        self._token = token

    def status(self) -> dict[str, Any]:
        return self._object("GET", "/v1/status")

    def costs(self, by: str, limit: int) -> dict[str, Any]:
        return self._object("GET", f"/v1/costs?{urlencode({'by': by, 'limit': limit})}")

    def streams(self) -> list[dict[str, Any]]:
        content, _ = self._ask("GET", "/v1/streams")
        streams: list[dict[str, Any]] = json.loads(content)
        return streams

    def queries(self) -> list[dict[str, Any]]:
        content, _ = self._ask("GET", "/v1/queries")
        queries: list[dict[str, Any]] = json.loads(content)
        return queries

    def related(self, name: str) -> dict[str, Any]:
        return self._object("GET", f"/v1/queries/{quote(name, safe='')}/related")

    def register(self, script: str, *, file: str, folder: str, replace: bool = False) -> dict[str, Any]:
        body = {"script": script, "file": file, "folder": folder, "replace": replace}
        return self._object("POST", "/v1/scripts", body)

    def drop(self, name: str) -> dict[str, Any]:
        return self._object("DELETE", f"/v1/queries/{quote(name, safe='')}")

    def pause(self, name: str) -> dict[str, Any]:
        return self._object("POST", f"/v1/queries/{quote(name, safe='')}/pause")

    def resume(self, name: str) -> dict[str, Any]:
        return self._object("POST", f"/v1/queries/{quote(name, safe='')}/resume")

    def snapshot(self) -> dict[str, Any]:
        return self._object("POST", "/v1/snapshots")

    def tail(
        self, name: str, start: str, follow: bool, tell: Callable[[str], None] = lambda text: None
    ) -> Iterator[bytes]:
        """Records of a query as lines, piece by piece; empty pieces while there are none.

        It is told if records since the query's registration are no longer kept.
        """
        while True:
            words = urlencode({"from": start, "wait": _POLL_SECONDS if follow else 0})
            path = f"/v1/queries/{quote(name, safe='')}/results?{words}"
            lines, headers = self._ask("GET", path)
            if (kept_from := headers["Seine-Kept-From"]) is not None:
                tell(f"records of {name} before position {kept_from} of the results are no longer kept")
            yield lines
            if not follow and headers["Seine-Next"] == start:
                return
            start = headers["Seine-Next"]

    def _object(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        content, _ = self._ask(method, path, body)
        answer: dict[str, Any] = json.loads(content)
        return answer

    def _connection(self, host: str) -> http.client.HTTPConnection:
        if self._where.scheme == "http":
            return http.client.HTTPConnection(host, self._where.port or 80, timeout=_ANSWER_SECONDS)
        context = _trusting(self._certificate)
        return http.client.HTTPSConnection(
            host, self._where.port or 443, timeout=_ANSWER_SECONDS, context=context
        )

    def _ask(self, method: str, path: str, body: Any = None) -> tuple[bytes, Any]:
        assert self._where.hostname is not None
        connection = self._connection(self._where.hostname)
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body)
        try:
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            got = answer.read()
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise RunError(
                f"the service at {self._url} does not answer: {reason}", hint="is it still running?"
            ) from error
        finally:
            connection.close()
        if answer.status != http.client.OK:
            raise _refusal(answer.status, got)
        return got, answer.headers


def _trusting(certificate: str | None) -> ssl.SSLContext:
    """What certificates are judged by: those that the system trusts, or the one that a folder names.

    Whoever can read the folder of a service knows its certificate: that very one is asked for, whatever
    name it is for.
    """
    if certificate is None:
        return ssl.create_default_context()
    try:
        context = ssl.create_default_context(cafile=certificate)
    except OSError as error:
        raise SeineError(f"cannot read the certificate '{certificate}' of the service") from error
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def read_token(path: str | None) -> str | None:
    """The token in a file, or in SEINE_TOKEN."""
    if path is None:
        return os.environ.get("SEINE_TOKEN") or None
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SeineError(f"cannot read the token in '{path}': {reason}") from error


def _refusal(status: int, content: bytes) -> SeineError:
    try:
        form = json.loads(content)["error"]
        message, where = form["message"], form.get("where")
    except (ValueError, KeyError, TypeError):
        return RunError(f"the service answered {status}, not as a service does")
    place = Position(where["file"], where["line"], where["column"]) if where else None
    kind = RunError if status >= http.client.INTERNAL_SERVER_ERROR else SeineError
    return kind(message, hint=form.get("hint"), where=place)
