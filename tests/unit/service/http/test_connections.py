"""Limits of connections over raw sockets: slow clients, many clients, long polls, what is no HTTP."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from seine.service.http import app
from seine.service.tail import TailedRecords, read_records
from tests.support.http_rig import HttpRig

STREAM = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"
QUERY = "CREATE QUERY q AS SELECT a FROM s;"
HEAD = b"Host: localhost\r\n"
POLL = b"GET /v1/queries/q/results?from=end&wait=60 HTTP/1.1\r\n" + HEAD + b"\r\n"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[HttpRig]:
    rig = HttpRig(tmp_path, longest_silence=1.0, longest_head=2.0, longest_request=2.0)
    yield rig
    rig.close()


def answer_to(rig: HttpRig, request: bytes) -> bytes:
    """All that comes back until the server closes."""
    with rig.connect() as connection:
        connection.sendall(request)
        return connection.makefile("rb").read()


@pytest.mark.parametrize(
    "begin",
    [
        b"",
        b"GET /v1/sta",
        b"GET /v1/status HTTP/1.1\r\nHost: local",
        b"POST /v1/scripts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100\r\n\r\n{",
    ],
)
def test_a_client_that_falls_silent_is_cut_off(rig: HttpRig, begin: bytes) -> None:
    started = time.monotonic()
    assert answer_to(rig, begin) == b""
    assert 0.9 < time.monotonic() - started < 20
    assert rig.client.status()["version"] == 0


@pytest.mark.parametrize(
    "begin",
    [
        b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"POST /v1/scripts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100000\r\n\r\n",
    ],
)
def test_a_request_that_dribbles_in_is_cut_off(rig: HttpRig, begin: bytes) -> None:
    """It is never silent for long, and yet it may not take for ever."""
    started = time.monotonic()
    with rig.connect() as connection:
        connection.sendall(begin)
        with suppress(OSError):  # reset or broken pipe, whichever comes first
            while time.monotonic() - started < 10:
                connection.sendall(b"x")
                time.sleep(0.2)
    assert 1.5 < time.monotonic() - started < 9
    assert rig.client.status()["version"] == 0


def test_a_client_that_takes_no_answer_is_cut_off(rig: HttpRig) -> None:
    """Its connection does not stay for what the system's buffers do not hold."""
    rig.register(STREAM + QUERY)
    with (rig.folder / "state" / "results.jsonl").open("ab") as file:
        file.write(b'{"query": "q", "row": 1}\n' * (1 << 18))
        file.flush()
        rig.service.sink.index.settle(file.tell())
    with rig.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = b"GET /v1/queries/q/results?from=0 HTTP/1.1\r\n" + HEAD + b"\r\n"
        connection.sendall(request * 8)
        _wait_until(lambda: len(_connections(rig)) == 1)
        _wait_until(lambda: not _connections(rig))
    assert rig.client.status()["version"] == 1


def test_a_connection_answers_again_and_again(rig: HttpRig) -> None:
    """Also when requests come before the answers to those before them."""
    request = b"GET /v1/status HTTP/1.1\r\n" + HEAD
    answer = answer_to(rig, (request + b"\r\n") * 3 + request + b"Connection: close\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200 OK\r\n") == 4


def test_many_long_polls_take_no_threads(tmp_path: Path) -> None:
    rig = HttpRig(tmp_path)
    try:
        rig.register(STREAM + QUERY)
        threads = threading.active_count()
        polls = [rig.connect() for _ in range(100)]
        for poll in polls:
            poll.sendall(POLL.replace(b"from=end", b"from=0").replace(HEAD, HEAD + b"Connection: close\r\n"))
        _wait_until(lambda: len(_tasks(rig)) == 100, seconds=20)
        _wait_until(lambda: threading.active_count() <= threads, seconds=20)
        assert rig.ask("GET", "/v1/status")[0] == 200
        rig.feed(7)
        for poll in polls:
            assert b'"row": {"a": 7}' in poll.makefile("rb").read()
            poll.close()
    finally:
        rig.close()


@pytest.mark.parametrize("count", [1, 3])
def test_a_client_that_ends_its_side_hears_all_answers(rig: HttpRig, count: int) -> None:
    body = json.dumps({"script": STREAM + QUERY, "folder": str(rig.folder)}).encode()
    length = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    with rig.connect() as connection:
        connection.sendall(b"POST /v1/scripts HTTP/1.1\r\n" + HEAD + length + body)
        connection.sendall((b"GET /v1/queries/q HTTP/1.1\r\n" + HEAD + b"\r\n") * (count - 1))
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").read()
    assert answer.count(b"HTTP/1.1 200 OK\r\n") == count and b'"registered": ["q"]' in answer
    _wait_until(lambda: not _connections(rig))


def test_a_poll_whose_client_ended_its_side_is_answered_at_once(rig: HttpRig) -> None:
    rig.register(STREAM + QUERY)
    with rig.connect() as poll:
        poll.sendall(POLL)
        _wait_until(lambda: len(_tasks(rig)) == 1)
        poll.shutdown(socket.SHUT_WR)
        answer = poll.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and b"seine-next: 0" in answer.lower()


def test_half_a_request_and_no_more_is_let_go(rig: HttpRig) -> None:
    head = b"POST /v1/scripts HTTP/1.1\r\n" + HEAD + b"Content-Type: application/json\r\n"
    head += b"Content-Length: 9\r\n"
    for begin in (b"", b"GET /v1", head, head + b'\r\n{"s'):
        with rig.connect() as connection:
            connection.sendall(begin)
            connection.shutdown(socket.SHUT_WR)
            started = time.monotonic()
            assert connection.makefile("rb").read() == b""
            assert time.monotonic() - started < 0.9  # sooner than one that falls silent


def test_polls_sleep_while_others_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 tails of a rare query read nothing while a heavy one reports, and then each its own record."""
    rig, reads = HttpRig(tmp_path), list[int]()

    def counted(*arguments: Any) -> TailedRecords:
        records = read_records(*arguments)
        reads.append(len(records.lines))
        return records

    monkeypatch.setattr(app, "read_records", counted)
    try:
        rig.register(STREAM + QUERY + "CREATE QUERY rare AS SELECT a FROM s WHERE a < 0;")
        polls = [rig.connect() for _ in range(200)]
        for poll in polls:
            poll.sendall(POLL.replace(b"/q/", b"/rare/").replace(HEAD, HEAD + b"Connection: close\r\n"))
        _wait_until(lambda: len(_tasks(rig)) == 200, seconds=30)
        for _ in range(5):
            rig.feed(*range(1000))
        before = len(reads)  # those who came together have shared one
        assert 0 < before <= 200 and reads == [0] * before
        rig.feed(-1)
        for poll in polls:
            assert poll.makefile("rb").read().count(b'"row": {"a": -1}') == 1
            poll.close()
        assert before < len(reads) <= 400 and 0 < min(reads[before:]) == max(reads[before:]) < 100
    finally:
        rig.close()


def test_a_poll_whose_client_left_is_over(rig: HttpRig) -> None:
    rig.register(STREAM + QUERY)
    with rig.connect() as poll:
        poll.sendall(POLL)
        _wait_until(lambda: len(_tasks(rig)) == 1)
    _wait_until(lambda: not _tasks(rig))


def test_polls_end_when_the_server_is_closed(tmp_path: Path) -> None:
    rig = HttpRig(tmp_path)
    rig.register(STREAM + QUERY)
    with rig.connect() as poll:
        poll.sendall(POLL)
        _wait_until(lambda: len(_tasks(rig)) == 1)
        started = time.monotonic()
        rig.server.close()
        assert time.monotonic() - started < 30  # the poll would have waited longer
        assert poll.makefile("rb").read().startswith(b"HTTP/1.1 200 OK\r\n")
    rig.close()


def test_readers_are_served_while_changes_wait(rig: HttpRig) -> None:
    """More changes than there are threads for them wait for their turn; a reader does not wait with them."""
    rig.register(STREAM + QUERY)
    seen: list[int] = []
    with rig.service.registrar._one_at_a_time:
        threads = [
            threading.Thread(target=lambda: seen.append(rig.ask("POST", "/v1/queries/q/pause")[0]))
            for _ in range(60)
        ]
        for thread in threads:
            thread.start()
        _wait_until(lambda: len(_tasks(rig)) == 60)
        assert rig.ask("GET", "/v1/status")[0] == rig.ask("GET", "/v1/queries")[0] == 200
    for thread in threads:
        thread.join()
    assert sorted(seen) == [200] + [409] * 59


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET /v1/status\r\n\r\n", 400),
        (b"GET /v1/status HTTP/3.0\r\n" + HEAD + b"\r\n", 505),
        (b"GET /v1/status HTTP/1.1\r\n\r\n", 403),
        (b"GET /v1/status HTTP/1.0\r\n\r\n", 403),
        (b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 403),
        (b"GET /v1/status HTTP/1.1\r\n" + HEAD + b"a b: c\r\n\r\n", 400),
        (b"GET /v1/status HTTP/1.1\r\n" + HEAD + b"X: y\r\n" * 101 + b"\r\n", 431),
        (b"GET /v1/status HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: gzip\r\n\r\n", 411),
        (b"GET /v1/status HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"GET /v1/status HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n", 411),
        (b"GET /v1/status HTTP/1.1\r\n" + HEAD + b"Content-Length: 1234567890123456789\r\n\r\n", 400),
        (b"GET /v1/status HTTP/1.1\r\n" + HEAD + b"Content-Length: 2\r\n\r\n{}", 400),
        (b"GET /" + b"x" * 70_000, 414),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000, 431),
        (b"CONNECT localhost:1 HTTP/1.1\r\n" + HEAD + b"\r\n", 501),
        (b"TRACE / HTTP/1.1\r\n" + HEAD + b"\r\n", 501),
        (b"OPTIONS * HTTP/1.1\r\n" + HEAD + b"\r\n", 404),
        (b"GET //v1/status HTTP/1.1\r\n" + HEAD + b"Connection: close\r\n\r\n", 200),
        (b"GET http://localhost/v1/status HTTP/1.1\r\n" + HEAD + b"Connection: close\r\n\r\n", 200),
        (b"GET /v1/%73tatus HTTP/1.1\r\n" + HEAD + b"\r\n", 404),
        (b"GET /v1/status/ HTTP/1.1\r\n" + HEAD + b"\r\n", 404),
        (b"GET /v1/status HTTP/1.1\r\n" + HEAD + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 200),
    ],
)
def test_what_is_no_request_of_ours_is_answered_in_our_form(
    rig: HttpRig, request_: bytes, status: int
) -> None:
    answer = answer_to(rig, request_)
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    assert int(head.split()[1]) == status
    assert b"content-type: application/json" in lines and b"x-content-type-options: nosniff" in lines
    assert b"server: seine" in lines and f"content-length: {len(body)}".encode() in lines
    if status != 200:
        assert b"connection: close" in lines and json.loads(body)["error"]["message"]
    assert rig.client.status()["version"] == 0


@pytest.mark.parametrize(("path", "status"), [(b"/v1/status", b"405"), (b"/v1/nothing", b"404")])
def test_head_has_no_body(rig: HttpRig, path: bytes, status: bytes) -> None:
    head, _, body = answer_to(rig, b"HEAD " + path + b" HTTP/1.1\r\n" + HEAD + b"\r\n").partition(b"\r\n\r\n")
    assert head.split()[1] == status and b"content-length: " in head.lower() and body == b""


BODY = (
    b"POST /v1/scripts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 9999999\r\n\r\n{"
)


@pytest.mark.parametrize("limit", ["most_connections", "most_of_an_address"])
@pytest.mark.parametrize("begin", [b"", b"GET /v1/status HTTP/1.1\r\nX: ", BODY])
def test_slow_clients_make_way(tmp_path: Path, limit: str, begin: bytes) -> None:
    """Nobody has to wait until they are cut off, however many they are."""
    rig = HttpRig(tmp_path, longest_silence=600.0, longest_head=600.0, **{limit: 8})
    try:
        slow = [rig.connect() for _ in range(8)]
        for connection in slow:
            connection.sendall(begin)
        for _ in range(20):
            assert rig.ask("GET", "/v1/status")[0] == 200
        with suppress(ConnectionResetError):
            assert slow[0].makefile("rb").read() == b""  # the first to make way
        _wait_until(lambda: len(_connections(rig)) < 8)
        for connection in slow:
            connection.close()
    finally:
        rig.close()


def test_an_address_is_not_crowded_out_by_another(tmp_path: Path) -> None:
    """512 slow clients of one address take no place of others, nor of a poll of their own address."""
    rig = HttpRig(tmp_path, longest_head=600.0, longest_silence=600.0, most_of_an_address=4)
    try:
        rig.register(STREAM + QUERY)
        with rig.connect() as poll:
            poll.sendall(POLL.replace(HEAD, HEAD + b"Connection: close\r\n"))
            _wait_until(lambda: any(one._is_answering() for one in _connections(rig)))
            slow = [rig.connect() for _ in range(50)]
            _wait_until(lambda: len(_connections(rig)) == 4)
            other = rig.connect("127.0.0.2")
            other.sendall(b"GET /v1/status HTTP/1.1\r\n" + HEAD + b"Connection: close\r\n\r\n")
            assert other.makefile("rb").read().startswith(b"HTTP/1.1 200 OK")
            rig.feed(7)
            assert b'"row": {"a": 7}' in poll.makefile("rb").read()
        for connection in [other, *slow]:
            connection.close()
    finally:
        rig.close()


def test_a_body_has_the_time_that_its_length_needs(tmp_path: Path) -> None:
    """A short one that dribbles in is cut off long before a long one would be."""
    rig = HttpRig(tmp_path, longest_head=0.5, longest_request=600.0)
    try:
        with rig.connect() as short, rig.connect() as long:
            short.sendall(BODY.replace(b"9999999", b"99"))
            long.sendall(BODY.replace(b"9999999", b"%d" % (64 << 20)))
            assert short.makefile("rb").read() == b""
            _wait_until(lambda: len(_connections(rig)) == 1)
            time.sleep(0.5)
            assert len(_connections(rig)) == 1
    finally:
        rig.close()


def _connections(rig: HttpRig) -> set[Any]:
    return {*rig.server._server.server_state.connections}


def _tasks(rig: HttpRig) -> set[object]:
    return {*rig.server._server.server_state.tasks}


def _wait_until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)
