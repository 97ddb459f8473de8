"""The HTTP interface: what it answers, whom it lets in, and what it refuses."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from seine.cli.main import main
from seine.errors import RunError, SeineError
from seine.service.client import Client, read_token
from seine.service.http.app import description
from seine.service.http.listening import Listening, is_loopback, refuse_open_door
from seine.storage.local import LocalStore
from tests.support.http_rig import HttpRig

STREAM = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"
QUERY = "CREATE QUERY q AS SELECT a FROM s;"
TOKEN = "a token that is long enough"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[HttpRig]:
    rig = HttpRig(tmp_path, most_body=2000)
    yield rig
    rig.close()


def test_a_query_lives_over_http(rig: HttpRig) -> None:
    done = rig.register(STREAM + QUERY)
    assert done == {"version": 1, "entry": 0, "registered": ["q"], "dropped": [], "related": {"q": []}}
    rig.feed(1, 2)
    assert [json.loads(line)["row"] for line in _tail(rig, "Q")] == [{"a": 1}, {"a": 2}]
    assert rig.client.pause("q")["registered"] == []
    assert [q["state"] for q in rig.client.queries()] == ["paused"]
    assert rig.client.resume("q")["registered"] == ["q"]
    assert rig.register(QUERY, replace=True)["dropped"] == ["q"]
    assert rig.client.drop("q")["dropped"] == ["q"]
    assert rig.client.queries() == []


def test_a_name_of_any_kind_can_be_asked_for(rig: HttpRig) -> None:
    rig.register(STREAM + 'CREATE QUERY "a/b ?é%" AS SELECT a FROM s;')
    rig.feed(1)
    assert len(_tail(rig, "a/b ?é%")) == 1
    assert rig.client.drop("a/b ?é%")["dropped"] == ["a/b ?é%"]


def test_what_queries_have_in_common_is_told(rig: HttpRig, capsys: pytest.CaptureFixture[str]) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s WHERE a > 1;")
    (one,) = rig.register("CREATE QUERY p AS SELECT a FROM s WHERE a > 2;")["related"]["p"]
    assert set(one) == _described("RelationAnswer") and one["text"] == "s: covered by q"
    related = rig.client.related("Q")
    assert related["query"] == "q" and [each["stronger"] for each in related["related"]] == [["p"]]
    assert set(related) == _described("RelatedAnswer")
    body = json.dumps({"script": "CREATE QUERY r AS SELECT a FROM s;", "related": False})
    answer = rig.ask("POST", "/v1/scripts", body, Content_Type="application/json")[1]
    assert answer["related"] is None and answer["registered"] == ["r"]
    assert main(["list", "--related", "p", "--service", rig.server.url]) == 0
    assert capsys.readouterr().out == "p: s: covered by q, r\n"
    assert rig.ask("GET", "/v1/queries/none/related")[0] == 404


def test_answers_are_as_described(rig: HttpRig) -> None:
    rig.register(STREAM + QUERY)
    status, form, _ = rig.ask("GET", "/v1/openapi.json")
    assert status == 200 and form == description() and form["openapi"] == "3.1.0"
    assert set(rig.client.status()) == _described("StatusAnswer")
    assert set(rig.client.queries()[0]) == _described("QueryAnswer")
    references = json.dumps(form)
    assert all(f'#/components/schemas/{name}"' in references for name in form["components"]["schemas"])


def test_a_tail_wakes_up_when_there_is_something(rig: HttpRig) -> None:
    rig.register(STREAM + QUERY)
    got: list[bytes] = []

    def follow() -> None:
        for lines in rig.client.tail("q", "end", follow=True):
            got.append(lines)
            if lines:
                return

    thread = threading.Thread(target=follow)
    thread.start()
    while thread.is_alive():
        rig.feed(7)
        thread.join(0.05)
    assert b'"row": {"a": 7}' in b"".join(got)


def test_a_refusal_has_a_place_and_a_hint(rig: HttpRig) -> None:
    with pytest.raises(SeineError) as refusal:
        rig.register(STREAM + "\nCREATE QUERY q AS SELECT b FROM s;")
    assert refusal.value.render() == "x.sql:2:26: no column b in FROM\n  hint: columns: a, ts"
    assert rig.service.published.view.declared.streams == {}


def test_collisions_are_told_apart(rig: HttpRig) -> None:
    rig.register(STREAM + QUERY)
    assert _post(rig, {"script": QUERY})[0] == 409
    assert _post(rig, {"script": "DROP STREAM s;"})[0] == 409
    assert rig.ask("DELETE", "/v1/queries/none")[0] == 404
    assert rig.ask("POST", "/v1/queries/q/resume")[0] == 409


def test_a_full_disk_is_told_and_leaves_no_trace(rig: HttpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.register(STREAM + QUERY)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "claim", full)
        with pytest.raises(SeineError, match="the disk is full"):
            rig.register("DROP QUERY q; CREATE QUERY p AS SELECT a FROM s WHERE a > 1;")
    assert [query["query"] for query in rig.client.queries()] == ["q"]
    rig.register("CREATE QUERY p AS SELECT a FROM s WHERE a > 1;")
    rig.feed(1, 2)
    assert len(_tail(rig, "q")) == 2 and len(_tail(rig, "p")) == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own with little room; it takes a user who may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("nothing may be mounted here")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def test_a_disk_that_is_full_is_answered_507_and_harms_nothing(small_disk: Path) -> None:
    rig = HttpRig(small_disk)
    try:
        pushed = "CREATE STREAM p (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'push:';"
        rig.register(STREAM + QUERY + pushed + "CREATE QUERY r AS SELECT a FROM p;")
        rig.feed(1)
        _fill(small_disk / "ballast")
        script = "".join(f"CREATE QUERY x{n} AS SELECT a FROM s WHERE a > {n};" for n in range(200))
        records = "".join(json.dumps({"a": n, "ts": n}) + "\n" for n in range(1000))
        lines = {"Content_Type": "application/x-ndjson"}
        full = {
            "register": _post(rig, {"script": script})[:2],
            "push": rig.ask("POST", "/v1/streams/p/records", records, **lines)[:2],
            "snapshot": rig.ask("POST", "/v1/snapshots")[:2],
        }
        for request, (status, answer) in full.items():
            assert (status, answer["error"]["message"]) == (507, "the disk is full"), request
        assert {one["query"] for one in rig.client.queries()} == {"q", "r"}
        (small_disk / "ballast").unlink()
        assert _post(rig, {"script": script})[0] == 200
        status, answer, _ = rig.ask("POST", "/v1/streams/p/records", records, **lines)
        assert (status, answer["repeated"]) == (200, False)
        rig.feed(2)
        assert [len(_tail(rig, name)) for name in ("q", "r", "x1")] == [2, 1000, 1]
        text = (small_disk / "state" / "audit.jsonl").read_text()
        assert [json.loads(line)["outcome"] for line in text.splitlines()].count("done") == 2
    finally:
        rig.close()


def _fill(path: Path) -> None:
    """Write until there is no room."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        for size in (1 << 16, 1 << 12, 1):
            with suppress(OSError):
                while True:
                    file.write(bytes(size))


def test_bulk_registrations_and_drops_take_turns(rig: HttpRig) -> None:
    """Clients that register, replace and drop at once: each change is whole, and the files agree with it."""
    rig.register(STREAM)
    bulk = "".join(f"CREATE QUERY b{{0}}_{i} AS SELECT a FROM s WHERE a > {i};" for i in range(120))
    failed: list[BaseException] = []

    def client(number: int) -> None:
        try:
            rig.service.registrar.register(bulk.format(number), file="x", folder=str(rig.folder))
            for i in range(0, 120, 2):
                rig.service.registrar.drop(f"b{number}_{i}")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        rig.feed(500)
    assert not failed
    names = {query["query"] for query in rig.client.queries()}
    assert names == {f"b{number}_{i}" for number in range(3) for i in range(1, 120, 2)}
    network, versions = rig.service.registrar.network, rig.service.deployment.versions
    assert versions.network(network.version, network.strategy).record() == network.record()
    rig.feed(1000)
    tails = [json.loads(_tail(rig, name)[-1])["row"] for name in sorted(names)]
    assert tails == [{"a": 1000}] * 180


def test_of_many_clients_one_wins(rig: HttpRig) -> None:
    rig.register(STREAM)
    seen: list[int] = []
    threads = [
        threading.Thread(target=lambda: seen.append(_post(rig, {"script": QUERY})[0])) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [200] + [409] * 7


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("GET", "/nothing", None, {}, 404),
        ("GET", "/v1/queries/a/b", None, {}, 404),
        ("PUT", "/v1/status", None, {}, 405),
        ("OPTIONS", "/v1/scripts", None, {}, 405),
        ("GET", "/v1/scripts", None, {}, 405),
        ("BREW", "/v1/status", None, {}, 501),
        ("POST", "/v1/scripts", "{}", {"Content_Type": "text/plain"}, 415),
        ("POST", "/v1/scripts", "{}", {}, 415),
        ("POST", "/v1/scripts", "{", {"Content_Type": "application/json"}, 400),
        ("POST", "/v1/scripts", "[]", {"Content_Type": "application/json"}, 400),
        ("POST", "/v1/scripts", "[" * 1900, {"Content_Type": "application/json"}, 400),
        ("POST", "/v1/scripts", "{}", {"Content_Type": "application/json"}, 400),
        ("POST", "/v1/scripts", '{"script": 1}', {"Content_Type": "application/json"}, 400),
        ("POST", "/v1/scripts", '{"script": "", "x": 1}', {"Content_Type": "application/json"}, 400),
        ("POST", "/v1/scripts", " " * 2001, {"Content_Type": "application/json"}, 413),
        ("POST", "/v1/queries/q/pause", "{}", {"Content_Type": "application/json"}, 400),
        ("GET", "/v1/queries?x=1", None, {}, 400),
        ("GET", "/v1/queries/q/results?from=99999", None, {}, 400),
        ("GET", "/v1/queries/q/results?wait=1e9", None, {}, 400),
        ("GET", "/v1/status", None, {"Host": "evil.example"}, 403),
        ("GET", "/v1/status", None, {"Host": "[::1"}, 403),
        ("POST", "/v1/scripts", '{"script": "\\u0000"}', {"Content_Type": "application/json"}, 400),
        (
            "POST",
            "/v1/scripts",
            '{"script": "", "file": "\\ud800"}',
            {"Content_Type": "application/json"},
            400,
        ),
        ("POST", "/v1/scripts", '{"\\ud800": 1}', {"Content_Type": "application/json"}, 400),
        ("GET", "/v1/status", None, {"Origin": "http://evil.example"}, 403),
        ("GET", "/v1/status", None, {"X": "y" * 70_000}, 431),
        ("GET", "/" + "x" * 70_000, None, {}, 414),
    ],
)
def test_what_is_wrong_is_refused_as_json(
    rig: HttpRig, method: str, path: str, body: str | None, headers: dict[str, str], status: int
) -> None:
    rig.register(STREAM + QUERY)
    got, form, _ = rig.ask(method, path, body, **headers)
    assert got == status and form["error"]["message"]
    assert rig.client.status()["queries"] == {"running": 1, "paused": 0, "failed": 0}


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Type: application/json\r\n",
        b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Type: application/json\r\nContent-Length: -1\r\n",
        b"Content-Type: application/json\r\nContent-Length: 1e3\r\n",
        b"Content-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 3\r\n",
    ],
)
def test_a_body_needs_a_length(rig: HttpRig, head: bytes) -> None:
    with rig.connect() as connection:
        connection.sendall(b"POST /v1/scripts HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n")
        answer = connection.makefile("rb").read()
    assert answer.split()[1] in (b"411", b"400") and b'"message"' in answer


def test_a_huge_body_is_refused_before_it_is_read(rig: HttpRig) -> None:
    with rig.connect() as connection:
        connection.sendall(
            b"POST /v1/scripts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 99999999999\r\n\r\n"
        )
        assert connection.makefile("rb").read().split()[1] == b"413"


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n", b"403"),
        (b"GET http://[::1/v1/status HTTP/1.1\r\nHost: localhost\r\n", b"400"),
    ],
)
def test_a_request_has_one_host_and_an_address(rig: HttpRig, head: bytes, status: bytes) -> None:
    with rig.connect() as connection:
        connection.sendall(head + b"\r\n")
        assert connection.makefile("rb").read().split()[1] == status


@pytest.mark.parametrize("limit", ["most_connections", "most_of_an_address"])
def test_who_comes_when_all_are_served_is_sent_away(tmp_path: Path, limit: str) -> None:
    rig = HttpRig(tmp_path, **{limit: 3})
    try:
        rig.register(STREAM + QUERY)
        held = [rig.connect() for _ in range(3)]
        for connection in held:
            connection.sendall(
                b"GET /v1/queries/q/results?from=end&wait=60 HTTP/1.1\r\nHost: localhost\r\n"
                b"Connection: close\r\n\r\n"
            )
        _wait_for_tasks(rig, 3)
        with rig.connect() as late:
            assert late.makefile("rb").read() == b""
        rig.feed(1)
        for connection in held:
            assert connection.makefile("rb").read().split()[1] == b"200"
            connection.close()
        for _ in range(20):  # as many times as there are places, and more
            assert _one_that_is_served(rig)["version"] == 1
    finally:
        rig.close()


def test_a_request_that_trickles_in_is_cut_off(tmp_path: Path) -> None:
    rig = HttpRig(tmp_path, longest_head=0.3)
    try:
        with rig.connect() as connection:
            connection.sendall(b"GET /v1/status HTTP/1.1\r\nHost: local")
            assert connection.makefile("rb").read() == b""
        assert rig.client.status()["version"] == 0
    finally:
        rig.close()


def test_a_token_lets_in(tmp_path: Path) -> None:
    rig = HttpRig(tmp_path, token=TOKEN)
    try:
        assert rig.client.status()["version"] == 0
        for wrong in ({}, {"Authorization": "Bearer x"}, {"Authorization": TOKEN}):
            status, _, headers = rig.ask("GET", "/v1/status", **wrong)
            assert status == 401 and headers["WWW-Authenticate"] == "Bearer"
        with pytest.raises(SeineError, match="token is missing or wrong"):
            Client(rig.server.url, "another").status()
    finally:
        rig.close()


def test_a_token_may_have_letters_of_latin_1(tmp_path: Path) -> None:
    rig = HttpRig(tmp_path, token="ein Schlüssel, lang genug")
    try:
        assert rig.client.status()["version"] == 0
    finally:
        rig.close()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"x": 1, "script": 1}', "unknown property 'x'"),
        ('{"script": 1, "x": 1}', "'script' must be a string"),
        ('{"x": 1}', "unknown property 'x'"),
        ('{"related": 0, "file": 2}', "'related' must be a boolean"),
        ('{"file": "a"}', "'script' is missing"),
        ('{"\\ud800": 1}', "unknown property '\ud800'"),
    ],
)
def test_the_first_wrong_property_is_told(rig: HttpRig, body: str, message: str) -> None:
    status, form, _ = rig.ask("POST", "/v1/scripts", body, Content_Type="application/json")
    assert status == 400 and form["error"]["message"] == message


def test_an_open_door_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for host in ("0.0.0.0", "", "example.org", "::"):
        with pytest.raises(SeineError, match="needs a token"):
            refuse_open_door(Listening(host))
    refuse_open_door(Listening("0.0.0.0", token=TOKEN))
    with pytest.raises(SeineError, match="too short"):
        refuse_open_door(Listening(token="x"))
    assert is_loopback("127.0.0.9") and not is_loopback("10.0.0.1")
    (tmp_path / "token").write_text(TOKEN + "\n")
    monkeypatch.setenv("SEINE_TOKEN", "other")
    assert (read_token(str(tmp_path / "token")), read_token(None)) == (TOKEN, "other")


def test_a_service_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    rig = HttpRig(tmp_path)
    rig.service.folder.publish({"url": rig.server.url, "process": os.getpid()})
    rig.close()
    with pytest.raises(RunError, match="does not answer"):
        Client(str(tmp_path / "state")).status()
    rig.service.folder.withdraw()
    with pytest.raises(SeineError, match="no service runs in"):
        Client(str(tmp_path / "state"))
    with pytest.raises(SeineError, match="no address of a service"):
        Client("ftp://localhost")


def _described(schema: str) -> set[str]:
    """The properties of an answer as the description has them; all of them are required."""
    form = description()["components"]["schemas"][schema]
    assert set(form["required"]) == set(form["properties"])
    return set(form["properties"])


def _one_that_is_served(rig: HttpRig) -> Any:
    """The status; a place is free a moment after its client has heard everything."""
    while True:
        try:
            return rig.client.status()
        except RunError:
            continue


def _wait_for_tasks(rig: HttpRig, count: int) -> None:
    end = time.monotonic() + 10
    while len(rig.server._server.server_state.tasks) < count:
        assert time.monotonic() < end, "they never came"
        time.sleep(0.02)


def _tail(rig: HttpRig, name: str) -> list[bytes]:
    return b"".join(rig.client.tail(name, "start", follow=False)).splitlines()


def _post(rig: HttpRig, body: dict[str, Any]) -> tuple[int, Any, Any]:
    return rig.ask("POST", "/v1/scripts", json.dumps(body), Content_Type="application/json")
