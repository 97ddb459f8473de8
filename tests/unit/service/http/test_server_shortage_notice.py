"""What clients are told while a service waits for room."""

from __future__ import annotations

import http.client
import json

import pytest

from seine.errors import SeineError
from seine.service.client import Client
from seine.service.http.listening import Listening
from seine.service.http.server import ShortageNotice
from seine.shortages import FULL_DISK, NO_MEMORY

TOKEN = "a token of some length"


def _port(notice: ShortageNotice) -> int:
    return int(notice._socket.getsockname()[1])


def _ask(port: int, method: str, path: str, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, None, headers)
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return answer.status, content


@pytest.mark.parametrize(("shortage", "status"), [(FULL_DISK, 507), (NO_MEMORY, 503)])
def test_every_request_hears_what_there_is_too_little_of(shortage: str, status: int) -> None:
    notice = ShortageNotice(shortage, Listening())
    port = _port(notice)
    try:
        for method, path in (("GET", "/v1/queries"), ("POST", "/v1/scripts"), ("GET", "/metrics")):
            got, content = _ask(port, method, path)
            assert (got, json.loads(content)["error"]["message"]) == (status, shortage)
        assert _ask(port, "GET", "/healthz") == (200, "alive\n")
        assert _ask(port, "GET", "/readyz") == (503, f"{shortage}\n")
        with pytest.raises(SeineError, match=shortage):
            Client(f"http://127.0.0.1:{port}").drop("q")
    finally:
        notice.close()
    ShortageNotice(shortage, Listening(port=port)).close()  # the address is free again


def test_who_may_not_ask_hears_nothing_of_it() -> None:
    notice = ShortageNotice(FULL_DISK, Listening(token=TOKEN))
    port = _port(notice)
    try:
        assert _ask(port, "GET", "/v1/status")[0] == 401
        assert _ask(port, "GET", "/v1/status", Authorization=f"Bearer {TOKEN}")[0] == 507
    finally:
        notice.close()
