"""A PostgreSQL server that falls silent, at whatever point, holds nobody for long."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seine import postgres_timeouts
from seine.errors import SeineError
from seine.intake.relations import load_relation
from tests.support.service_rig import STREAM, Rig

pytest.importorskip("psycopg")

RELATION = "CREATE RELATION r (a BIGINT) FROM '{url}' WITH (table = 't');"
QUERY = "CREATE QUERY q AS SELECT s.a FROM s JOIN r ON s.a = r.a;"
NO, WELCOME = b"N", b"R" + struct.pack("!ii", 8, 0) + b"Z" + struct.pack("!i", 5) + b"I"


@contextmanager
def silent_server(*, welcomes: bool) -> Iterator[str]:
    """A server that accepts connections and says nothing, or nothing more after it has let a client in."""
    listening = socket.create_server(("127.0.0.1", 0))
    accepted: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            accepted.append(connection)
            if welcomes:
                threading.Thread(target=welcome, args=(connection,), daemon=True).start()

    def welcome(connection: socket.socket) -> None:
        """Refuse encryption as often as it is asked for, then let the client in."""
        while True:
            size, code = struct.unpack("!ii", connection.recv(8, socket.MSG_WAITALL))
            if code not in (80877103, 80877104):
                connection.recv(size - 8, socket.MSG_WAITALL)
                connection.sendall(WELCOME)
                return
            connection.sendall(NO)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"postgresql://u@127.0.0.1:{listening.getsockname()[1]}/d"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for connection in accepted:
            connection.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_timeouts, "CONNECT_SECONDS", 2)  # libpq knows no less
    monkeypatch.setattr(postgres_timeouts, "SILENCE_SECONDS", 1.0)


@pytest.mark.parametrize("welcomes", [False, True])
def test_a_relation_on_a_silent_server_is_refused(tmp_path: Path, welcomes: bool) -> None:
    rig = Rig(tmp_path)
    with silent_server(welcomes=welcomes) as url:
        rig.feed(1)
        with pytest.raises(SeineError, match="relation r: cannot read table t of postgresql") as refused:
            rig.register(STREAM + RELATION.format(url=url) + QUERY)
    assert ("stopped answering" if welcomes else "timeout") in refused.value.message
    assert refused.value.hint and not rig.service.registrar.view.registered


def test_others_register_while_a_server_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Registrations, drops and micro-batches go on; the slow one is refused when it is over."""
    monkeypatch.setattr(postgres_timeouts, "CONNECT_SECONDS", 30)
    rig, refusals = Rig(tmp_path), list[SeineError]()
    (tmp_path / "s.jsonl").touch()
    rig.register(STREAM)

    def slow() -> None:
        try:
            rig.register(RELATION.format(url=url) + QUERY)
        except SeineError as error:
            refusals.append(error)

    with silent_server(welcomes=False) as url:
        thread = threading.Thread(target=slow)
        thread.start()
        time.sleep(0.3)
        rig.register("CREATE QUERY p AS SELECT a FROM s;")
        rig.feed(7)
        rig.run()
        assert rig.records("p") == [{"a": 7}] and thread.is_alive()
    thread.join(30)
    assert len(refusals) == 1 and [*rig.service.registrar.view.registered] == ["p"]


def test_what_was_read_must_still_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a relation is read somebody declares another one of its name: that is what counts."""
    rig = Rig(tmp_path)
    (tmp_path / "s.jsonl").touch()
    for name, value in (("one", 1), ("two", 2)):
        (tmp_path / f"{name}.jsonl").write_text(f'{{"a": {value}}}\n')
    declare = "CREATE RELATION r (a BIGINT) FROM '{}.jsonl';"
    rig.register(STREAM + declare.format("one"))
    calls: list[str] = []

    def load(relation):  # type: ignore[no-untyped-def]
        calls.append(relation.source.path)
        if len(calls) == 1:
            rig.register("DROP RELATION r;" + declare.format("two"))
        return load_relation(relation)

    monkeypatch.setattr("seine.lifecycle.change_inputs.load_relation", load)
    rig.register(QUERY)
    assert [Path(path).name for path in calls] == ["one.jsonl", "two.jsonl"]
    rig.feed(1, 2)
    rig.run()
    assert rig.records("q") == [{"a": 2}]


def test_an_address_says_more(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"connect_timeout": "3", "options": "-c statement_timeout=5"}
    arguments = postgres_timeouts.connection_arguments(given)
    assert "connect_timeout" not in arguments and "options" not in arguments
    assert postgres_timeouts.connection_arguments({})["connect_timeout"] == 2
