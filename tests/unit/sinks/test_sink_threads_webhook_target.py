"""Webhooks: signed, sent again with the same key, given up to dead letters; nobody waits for them."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random

import pytest

from seine import backoff
from seine.errors import SeineError
from tests.support.service_rig import Rig, rig_of_two_streams
from tests.support.sink_process import deliver_through_kills
from tests.support.sink_rig import GrowingResults, folder_lines, wait_for

SECRET = "correct horse"
QUERY = "CREATE QUERY q AS SELECT a FROM s; "


class Hook:
    """A server that answers as `answer` says, and keeps what it was sent: key, whether signed, body."""

    def __init__(self) -> None:
        self.answer: Callable[[int], int] = lambda calls: 204
        self.calls: list[tuple[str, bool, bytes]] = []
        self.headers: list[dict[str, str]] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                key = self.headers["Idempotency-Key"]
                signed = hmac.new(SECRET.encode(), f"{key}.".encode() + body, hashlib.sha256).hexdigest()
                hook.calls.append((key, self.headers["Seine-Signature"] == f"sha256={signed}", body))
                hook.headers.append(dict(self.headers))
                status = hook.answer(len(hook.calls))
                if status:
                    self.send_response(status)
                    self.end_headers()
                else:
                    self.close_connection = True

            def log_message(self, *arguments: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook?x=1"

    def accepted(self) -> list[bytes]:
        """The lines of all pieces, each key once, in order."""
        assert all(signed for _, signed, _ in self.calls)
        return [line for body in {key: body for key, _, body in self.calls}.values() for line in _lines(body)]


def _lines(body: bytes) -> list[bytes]:
    return body.splitlines(keepends=True)


@contextmanager
def running_hook() -> Iterator[Hook]:
    hook = Hook()
    threading.Thread(target=hook.server.serve_forever, daemon=True).start()
    yield hook
    hook.server.shutdown()
    hook.server.server_close()


@pytest.fixture
def hook() -> Iterator[Hook]:
    with running_hook() as one:
        yield one


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setattr(backoff, "SECOND", 0.02)
    yield from rig_of_two_streams(tmp_path, {"HOOK_WORD": SECRET, "TWO_LINES": "battery\nstaple"})


def _sink(hook: Hook, options: str = "") -> str:
    return f"CREATE SINK out FROM q INTO '{hook.url}' WITH (secret = '${{HOOK_WORD}}'{options});"


def test_records_arrive_once_by_their_keys_through_sigkill(
    hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_WORD", SECRET)
    results, random = GrowingResults(tmp_path), Random(5)
    for _ in range(8):
        results.add(random, 12)
    kills = deliver_through_kills(tmp_path, hook.url, {"secret": "${HOOK_WORD}"}, kills=3, seed=500)

    assert hook.accepted() == results.lines(("q1", "q2")) != []
    assert kills == 3


def test_a_failure_is_tried_again_with_the_same_key(hook: Hook, rig: Rig) -> None:
    hook.answer = lambda calls: [500, 302, 0, 204][calls - 1] if calls < 5 else 204
    rig.register(QUERY + _sink(hook, ", authorization = 'Bearer ${HOOK_WORD}'"))
    rig.feed(2, 3)
    rig.run()
    wait_for(lambda: rig.service.sinks()[0]["records"] == 2)
    rig.feed(4)
    rig.run()
    wait_for(lambda: rig.service.sinks()[0]["records"] == 3)

    assert [key for key, _, _ in hook.calls[:4]] == [hook.calls[0][0]] * 4 != [hook.calls[4][0]] * 4
    assert [json.loads(line)["row"]["a"] for line in hook.accepted()] == [2, 3, 4]
    assert {one["Authorization"] for one in hook.headers} == {f"Bearer {SECRET}"}


def test_a_secret_that_no_header_takes_is_not_repeated(hook: Hook, rig: Rig) -> None:
    rig.register(QUERY + _sink(hook, ", authorization = '${TWO_LINES}'"))
    rig.feed(2)
    rig.run()
    wait_for(lambda: rig.service.sinks()[0]["since"] is not None)
    answers = json.dumps(rig.service.sinks())
    assert "a header has a line end" in answers
    assert "battery" not in answers and "staple" not in answers
    assert hook.calls == []


def test_what_is_not_taken_becomes_dead_letters_and_the_rest_goes_on(
    hook: Hook, rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    refused = threading.Event()
    hook.answer = lambda calls: 204 if refused.is_set() else 400
    rig.register(QUERY + _sink(hook, ", attempts = '3'"))
    rig.feed(2, 3)
    rig.run()
    wait_for(lambda: rig.service.sinks()[0]["undelivered"] == 2)
    refused.set()
    rig.feed(4)
    rig.run()
    wait_for(lambda: rig.service.sinks()[0]["records"] == 1)
    letters = [
        json.loads(line)
        for file in (rig.folder / "state" / "undelivered").rglob("*.jsonl")
        for line in file.read_text().splitlines()
    ]

    assert len([key for key, _, _ in hook.calls if key == hook.calls[0][0]]) == 3
    assert [letter["record"]["row"]["a"] for letter in letters] == [2, 3]
    assert {(letter["sink"], letter["reason"]) for letter in letters} == {("out", "the webhook answers 400")}
    kept = b"".join(path.read_bytes() for path in (rig.folder / "state").rglob("*") if path.is_file())
    assert SECRET.encode() not in kept
    assert SECRET not in caplog.text + json.dumps(rig.service.status())


def test_a_hook_that_never_answers_keeps_nobody_waiting(hook: Hook, rig: Rig) -> None:
    silent = threading.Event()
    hook.answer = lambda calls: 204 if silent.wait(20) else 500
    rig.register(QUERY + _sink(hook, ", timeout = '1'") + "CREATE SINK good FROM q INTO 'alerts';")
    started = time.time()
    rig.feed(2)
    rig.run()
    wait_for(lambda: len(folder_lines(rig.folder / "alerts")) == 1)
    wait_for(lambda: rig.service.sinks()[0]["state"] == "retrying")
    waiting = rig.service.sinks()[0]["waiting"]
    silent.set()

    assert waiting is not None
    assert (waiting["batches"], waiting["records"]) == (1, 1)
    assert waiting["since"] >= time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(started - 1))
    assert rig.service.sinks()[1]["waiting"] is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("'http://example.org/x' WITH (secret = '${HOOK_WORD}')", "http is for this machine alone"),
        ("'http://127.0.0.1.example.org/x' WITH (secret = '${HOOK_WORD}')", "http is for this machine alone"),
        ("'https://me:battery@host/x' WITH (secret = '${HOOK_WORD}')", "has a password or another secret"),
        ("'https://host/x?token=battery' WITH (secret = '${HOOK_WORD}')", "has a password or another secret"),
        ("'https://host:x/' WITH (secret = '${HOOK_WORD}')", "no address of a webhook"),
        ("'https:///x' WITH (secret = '${HOOK_WORD}')", "no address of a webhook"),
        ("'https://host/a b' WITH (secret = '${HOOK_WORD}')", "no address of a webhook"),
        ("'https://host/x'", "a webhook needs a secret"),
        ("'https://host/x' WITH (secret = 'battery')", "has a secret in the script"),
        ("'https://host/x' WITH (secret = '${HOOK_WORD}', authorization = 'battery')", "has a secret in"),
        ("'https://host/x' WITH (secret = '${HOOK_WORD}', attempts = '0')", "attempts is a number"),
        ("'https://host/x' WITH (secret = '${HOOK_WORD}', attempts = '${HOOK_WORD}')", "is not for secrets"),
        ("'https://host/x' FORMAT PARQUET WITH (secret = '${HOOK_WORD}')", "FORMAT PARQUET is for folders"),
    ],
)
def test_what_could_never_deliver_is_refused(rig: Rig, text: str, reason: str) -> None:
    rig.register(QUERY)
    with pytest.raises(SeineError, match=reason) as refused:
        rig.register(f"CREATE SINK s1 FROM q INTO {text};")

    assert "battery" not in refused.value.render()
    assert rig.service.sinks() == []
