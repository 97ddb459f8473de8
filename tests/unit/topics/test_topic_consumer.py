"""TLS towards a broker: keys come from an options file, reach the client, and are in no text of ours."""

from __future__ import annotations

import logging
import socket
import ssl
import threading
import time
from pathlib import Path

import pytest

from seine.errors import RunError, ScriptError, SeineError
from seine.frontends.script.parser import parse_script
from seine.runtime.option_secrets import OptionSecrets
from seine.topics.client_settings import topic_reading
from seine.topics.topic_consumer import TopicConsumer
from seine.topics.topic_records import TopicReading
from tests.support.certificates import self_made_certificate

STREAM = """CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts USING kafka OPTIONS (subscribe 'bids',
  kafka.bootstrap.servers '{server}', kafka.security.protocol 'SSL',
  kafka.ssl.truststore.type 'PEM', kafka.ssl.truststore.certificates '{trusted}',
  kafka.ssl.keystore.type 'PEM', kafka.ssl.keystore.certificate.chain '{chain}',
  kafka.ssl.keystore.key '{key}');"""
_MOST_SECONDS = 120


class _TlsDoor:
    """Greets whoever comes with a certificate that it knows, and says no word of Kafka's."""

    def __init__(self, folder: Path) -> None:
        self.chain, key = self_made_certificate(folder, "broker")
        self.known, self.key = self_made_certificate(folder, "client")
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(self.chain, key)
        self._context.load_verify_locations(self.known)
        self._context.verify_mode = ssl.CERT_REQUIRED
        self._socket = socket.create_server(("localhost", 0))
        self.address = f"localhost:{self._socket.getsockname()[1]}"
        self.greeted: list[object] = []
        self.came = threading.Event()
        threading.Thread(target=self._greet, daemon=True).start()

    def _greet(self) -> None:
        while True:
            try:
                plain, _ = self._socket.accept()
            except OSError:
                return  # closed
            try:
                with self._context.wrap_socket(plain, server_side=True) as guest:
                    guest.recv(1)  # its certificate has been judged by then
                    self.greeted.append((guest.getpeercert() or {})["subject"])
                    self.came.set()
            except OSError:
                self.greeted.append(None)

    def close(self) -> None:
        self._socket.close()


def _reading(door: _TlsDoor, secrets: OptionSecrets, trusted: Path) -> TopicReading:
    text = STREAM.format(
        server=door.address, trusted=trusted.read_text(), chain=door.known.read_text(), key="${KEY}"
    )
    stream = parse_script(text, file="s.sql", folder="/").declarations.streams["s"]
    assert stream.reader is not None and "PRIVATE" not in repr(stream)
    reading = topic_reading(stream, secrets.resolved("s", stream.reader))
    assert reading is not None, "tasks read it themselves"
    return reading


def test_a_key_reaches_the_client_and_no_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    door = _TlsDoor(tmp_path)
    (tmp_path / "options").write_text(f"# of the client\nKEY < {door.key.name}\n")
    secrets = OptionSecrets.read(str(tmp_path / "options"), environment=False)
    consumer = TopicConsumer(_reading(door, secrets, door.chain).settings, 1.0)
    consumer.client.subscribe(["bids"])
    deadline = time.monotonic() + _MOST_SECONDS
    while not door.came.wait(0.1):
        assert time.monotonic() < deadline, door.greeted
        consumer.client.poll(0)
    consumer.close()
    assert ((("commonName", "client"),),) in door.greeted
    texts = caplog.text + "".join(capfd.readouterr())
    assert door.key.read_text().splitlines()[1] not in texts
    assert secrets.hide(f"told: {door.key.read_text()}").strip() == "told: ${KEY}"
    door.close()


def test_a_broker_that_nobody_trusts_is_told_in_one_line(tmp_path: Path) -> None:
    door = _TlsDoor(tmp_path)
    secrets = OptionSecrets({"KEY": door.key.read_text()}, environment=False)
    consumer = TopicConsumer(_reading(door, secrets, door.known).settings, 3.0)
    with pytest.raises(RunError) as failed:
        consumer.ask(lambda seconds: consumer.client.list_topics("bids", seconds))
    consumer.close()
    assert "Kafka" in failed.value.message and "\n" not in failed.value.message
    assert door.key.read_text().splitlines()[1] not in failed.value.message
    assert not door.came.is_set()
    door.close()


def test_a_key_that_is_none_is_told_without_its_text(tmp_path: Path) -> None:
    door = _TlsDoor(tmp_path)
    secrets = OptionSecrets({"KEY": "correct horse"}, environment=False)
    with pytest.raises(RunError) as failed:
        TopicConsumer(_reading(door, secrets, door.chain).settings, 1.0)
    assert "correct horse" not in failed.value.message
    door.close()


def test_a_key_in_a_script_is_refused(tmp_path: Path) -> None:
    _, key = self_made_certificate(tmp_path, "client")
    for literal in (key.read_text(), "anything"):
        text = STREAM.format(server="b:1", trusted="x", chain="x", key=literal)
        with pytest.raises(ScriptError, match=r"kafka\.ssl\.keystore\.key has a secret in the script"):
            parse_script(text, file="s.sql", folder="/")
    text = STREAM.format(server="b:1", trusted="x", chain=key.read_text(), key="${KEY}")
    with pytest.raises(ScriptError, match=r"certificate\.chain has a secret in the script"):
        parse_script(text, file="s.sql", folder="/")


def test_a_file_of_a_secret_that_cannot_be_read_is_not_named(tmp_path: Path) -> None:
    (tmp_path / "options").write_text("KEY < correct-horse\n")
    with pytest.raises(SeineError, match="cannot read the file that line 1 of") as failed:
        OptionSecrets.read(str(tmp_path / "options"))
    assert "correct-horse" not in str(failed.value)
