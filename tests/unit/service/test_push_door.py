"""Records that are sent to a service: durable, once, in order, however often they are sent."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seine.errors import ScriptError
from seine.frontends.script.parser import parse_script
from seine.intake.bundle import Bundle, bundle
from seine.intake.intake_state import file_identity
from tests.support.http_rig import HttpRig

STREAM = (
    "CREATE STREAM p (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'push:'; CREATE QUERY q AS SELECT a FROM p;"
)
PATH = "/v1/streams/p/records"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[HttpRig]:
    rig = HttpRig(tmp_path, most_body=2000)
    rig.register(STREAM)
    yield rig
    rig.close()


def push(rig: HttpRig, *values: object, path: str = PATH, **headers: str) -> tuple[int, Any, Any]:
    body = "\n".join(json.dumps({"a": value, "ts": 1}) for value in values)
    return rig.ask("POST", path, body, Content_Type="application/x-ndjson", **headers)


def values(rig: HttpRig) -> list[int]:
    rig.run()
    lines = (rig.folder / "state" / "results.jsonl").read_text().splitlines()
    return [json.loads(line)["row"]["a"] for line in lines]


def reopen(rig: HttpRig) -> None:
    """A process that comes after one that was killed."""
    rig.service._lock.release()
    rig.service.driver.close()
    rig.server.close()
    rig.__init__(rig.folder)  # type: ignore[misc]


def test_records_count_once_whatever_is_sent_again(rig: HttpRig) -> None:
    assert push(rig, 1, 2, Idempotency_Key="k1")[:2] == (200, {"stream": "p", "lines": 2, "repeated": False})
    assert push(rig, 1, 2, Idempotency_Key="k1")[:2] == (200, {"stream": "p", "lines": 2, "repeated": True})
    assert push(rig, 3)[0] == 200
    assert values(rig) == [1, 2, 3]
    assert push(rig, 9, Idempotency_Key="k1")[0] == 409
    assert push(rig, 4, Idempotency_Key="k2")[0] == 200
    reopen(rig)  # k1 is read and gone, k2 waits
    for key, sent in (("k1", (1, 2)), ("k2", (4,))):
        assert push(rig, *sent, Idempotency_Key=key)[1]["repeated"]
    assert values(rig) == [1, 2, 3, 4]
    reopen(rig)
    assert push(rig, 4, Idempotency_Key="k2")[1]["repeated"]
    assert push(rig, 5)[0] == 200
    assert values(rig) == [1, 2, 3, 4, 5]
    assert [*(rig.folder / "state" / "pushed").glob("*/0*.jsonl")] == []
    assert rig.service.dead_letters(0, None, 10)["letters"] == []


def test_no_file_goes_while_a_position_names_it(rig: HttpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a new file with its inode would count as read when a process comes back to that position."""
    remove, removed = os.remove, []

    def spy(path: str) -> None:
        if "/pushed/" not in path:
            remove(path)
            return
        journal = rig.service.deployment.journal
        named = {*journal.load(rig.service.driver._sink.totals.entry).intake.streams["p"].position}
        removed.append(file_identity(os.stat(path)) in named)
        remove(path)

    for value in (1, 2, 3):
        push(rig, value)
        with monkeypatch.context() as patch:
            patch.setattr("seine.service.push_door.os.remove", spy)
            values(rig)
        reopen(rig)
    assert removed == [False, False]
    assert values(rig) == [1, 2, 3]


def test_a_new_file_with_the_inode_of_a_position_is_another_file(rig: HttpRig) -> None:
    """A service that was restored has positions with inodes of the old folder, and a new file may get one."""
    push(rig, 1)
    assert values(rig) == [1]
    push(rig, 1)
    pushed = rig.folder / "state" / "pushed"
    (read,), (unread,) = pushed.glob("*/_read/0*.jsonl"), pushed.glob("*/0*.jsonl")
    old, new = (f'"{file_identity(path.stat())}"' for path in (read, unread))
    store = rig.service.deployment.store
    entries = {name: Bundle(store.local(name)) for name in store.list("journal/")}
    assert any(old.encode() in entry.record for entry in entries.values())
    for name, entry in entries.items():
        store.put(name, bundle(entry.record.replace(old.encode(), new.encode()), entry.pieces()))
    reopen(rig)
    assert values(rig) == [1, 1]


def test_equal_records_count_each_time_in_copies_of_a_folder(rig: HttpRig) -> None:
    """Files of a copy have other inodes than positions say; their names are not given again all the same."""
    rig.register("CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';")
    rig.register("CREATE QUERY r AS SELECT a FROM s;")
    state = rig.folder / "state"
    for count in range(1, 4):
        push(rig, 1)
        assert values(rig).count(1) == count
        rig.close()
        shutil.copytree(state / "pushed", rig.folder / "copy")
        shutil.rmtree(state / "pushed")
        (rig.folder / "copy").rename(state / "pushed")
        rig.__init__(rig.folder)  # type: ignore[misc]
        rig.feed(9)  # an entry in which nothing was sent
        reopen(rig)
    assert values(rig).count(9) == 3
    assert len([*(state / "pushed").glob("*/_read/0*.jsonl")]) < 3


def test_a_name_that_could_not_be_made_durable_counts_once(
    rig: HttpRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever sends it again is answered when it is, and intake may have read it by then."""
    door, stream = rig.service._pushes, rig.service.registrar.view.declared.streams["p"]
    body = json.dumps({"a": 1, "ts": 1}).encode()
    with monkeypatch.context() as patch:
        patch.setattr("seine.service.push_door.sync_to_disk", _fail)
        for _ in range(2):
            with pytest.raises(OSError, match="no disk"):
                door.push(stream, body, "k")
    assert values(rig) == [1]
    assert door.push(stream, body, "k").repeated
    assert values(rig) == [1]


def _fail(path: str) -> None:
    raise OSError("no disk")


def test_a_request_that_finds_no_room_leaves_nothing(rig: HttpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    door, stream = rig.service._pushes, rig.service.registrar.view.declared.streams["p"]
    with monkeypatch.context() as patch:
        patch.setattr("seine.service.push_door.os.fsync", _fail)
        with pytest.raises(OSError, match="no disk"):
            door.push(stream, b'{"a": 1, "ts": 1}', "k")
    assert [*(rig.folder / "state" / "pushed").glob("*/.0*")] == []
    assert not door.push(stream, b'{"a": 1, "ts": 1}', "k").repeated
    assert values(rig) == [1]


def test_the_log_of_keys_does_not_grow_for_ever(rig: HttpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seine.service.push_door._MOST_KEYS", 4)
    longest = 0
    for value in range(30):
        push(rig, value, Idempotency_Key=f"k{value}")
        assert values(rig)[-1] == value
        (log,) = (rig.folder / "state" / "pushed").glob("*/_keys.jsonl")
        longest = max(longest, len(log.read_text().splitlines()))
    assert 4 < longest <= 9
    with log.open("a") as file:
        file.write('["half')  # a crash
    reopen(rig)
    for value in range(27, 30):
        assert push(rig, value, Idempotency_Key=f"k{value}")[1]["repeated"]
    assert push(rig, 30, Idempotency_Key="k30")[0] == 200
    assert values(rig) == [*range(31)]
    reopen(rig)
    assert push(rig, 30, Idempotency_Key="k30")[1]["repeated"]


def test_bad_lines_are_dead_letters_and_the_rest_counts(rig: HttpRig) -> None:
    assert push(rig, 1, "x", 2)[0] == 200
    assert values(rig) == [1, 2]
    letters = rig.service.dead_letters(0, "p", 10)["letters"]
    assert [letter["line"] for letter in letters] == [2]


def test_what_is_refused(rig: HttpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    assert push(rig, 1, path="/v1/streams/nobody/records")[0] == 404
    assert rig.ask("POST", PATH, " \n", Content_Type="application/x-ndjson")[0] == 400
    assert rig.ask("POST", PATH, "x", Content_Type="text/plain")[0] == 415
    assert rig.ask("POST", PATH, "x" * 3000, Content_Type="application/x-ndjson")[0] == 413
    assert push(rig, 1, Idempotency_Key="k" * 300)[0] == 400
    monkeypatch.setattr("seine.service.push_door._MOST_WAITING_FILES", 1)
    assert push(rig, 1)[0] == 200
    status, _, headers = push(rig, 2)
    assert (status, headers["Retry-After"]) == (429, "1")
    assert values(rig) == [1]
    assert push(rig, 2)[0] == 200
    assert values(rig) == [1, 2]


def test_a_stream_that_is_created_again_has_nothing_of_the_one_before(rig: HttpRig) -> None:
    push(rig, 1)
    rig.register("DROP QUERY q; DROP STREAM p;")
    rig.register(STREAM)
    push(rig, 2)
    assert values(rig) == [2]
    with pytest.raises(ScriptError, match="a service alone"):
        parse_script(STREAM, file="x.sql", folder="/")
