"""Options of Spark's Kafka source as settings of librdkafka: each means the same, or is not taken."""

from __future__ import annotations

import base64
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from seine.algebra.definitions import StreamDef
from seine.errors import RunError
from seine.frontends.script.parser import read_script
from seine.service.source_gate import ALLOWED
from seine.topics.client_settings import OFFSETS_AT_ONCE, UnreadOption, client_settings, topic_reading
from seine.topics.topic_client import EARLIEST, LATEST
from seine.topics.topic_consumer import TopicConsumer
from seine.topics.topic_records import RecordColumns, TopicReading

TOPIC = "USING kafka OPTIONS ({option}, kafka.bootstrap.servers 'b:9092') {more}"
PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="a\'b;c";'


def test_a_login_of_java_is_a_user_and_a_password() -> None:
    settings = client_settings(
        {
            "subscribe": "bids",
            "kafka.bootstrap.servers": "b:9092",
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.jaas.config": PLAIN,
            "kafka.ssl.endpoint.identification.algorithm": "",
        }
    )
    assert settings == {
        "bootstrap.servers": "b:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": "a'b;c",
        "ssl.endpoint.identification.algorithm": "none",
    }
    TopicConsumer(settings, 1.0).close()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kafka.sasl.jaas.config", "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;"),
        ("kafka.sasl.jaas.config", PLAIN.replace('password="', 'token="')),
        ("kafka.sasl.jaas.config", PLAIN.replace("a'b;c", 'a\\"b')),
        ("kafka.sasl.mechanism", "GSSAPI"),
        ("kafka.security.protocol", "SASL_SSL"),
        ("kafka.ssl.truststore.location", "store.jks"),
        ("kafka.ssl.keystore.type", "PKCS12"),
        ("kafka.plugin.library.paths", "evil.so"),
        ("kafka.interceptor.classes", "x.Y"),
        ("kafka.ssl.keystore.password", "word"),
        ("kafka.ssl.protocol", "TLS"),
        ("minPartitions", "8"),
    ],
)
def test_what_has_no_counterpart_is_refused_in_one_line(key: str, value: str) -> None:
    with pytest.raises(UnreadOption, match=f"^topics cannot be read with option {key} as given\n") as refusal:
        client_settings({"kafka.bootstrap.servers": "b:9092", key: value})
    login = key.startswith(("kafka.sasl", "kafka.ssl", "kafka.security"))
    words = ("Kerberos", "Java", "PEM", "OAUTHBEARER") if login else ("leave it out",)
    assert all(word in str(refusal.value.hint) for word in words)


def test_every_option_that_a_service_takes_is_mapped_or_a_store_of_java() -> None:
    """And what is mapped is a setting that the client knows."""
    values = {"kafka.client.dns.lookup": "use_all_dns_ips", "kafka.isolation.level": "read_uncommitted"}
    values |= {"kafka.security.protocol": "SSL", "kafka.sasl.mechanism": "SCRAM-SHA-512"}
    values |= {"kafka.sasl.jaas.config": PLAIN.replace("Plain", "Scram")}
    values |= {"kafka.ssl.endpoint.identification.algorithm": "https"}
    mapped, refused = set(), set()
    for option in sorted(ALLOWED["kafka"]):
        try:
            settings = client_settings({option: values.get(option, "100000")})
        except UnreadOption:
            refused.add(option)
            continue
        mapped.add(option)
        TopicConsumer({"bootstrap.servers": "b:9092", **settings}, 1.0).close()
    assert set(values) <= mapped
    assert all(option.startswith(("kafka.ssl.keystore", "kafka.ssl.truststore")) for option in refused)
    assert {"kafka.fetch.max.wait.ms", "kafka.fetch.max.bytes", "kafka.max.poll.records"} <= mapped


def test_keys_as_texts_are_taken_over() -> None:
    options = {
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.key": "KEY",
        "kafka.ssl.keystore.certificate.chain": "CHAIN",
        "kafka.ssl.truststore.type": "pem",
        "kafka.ssl.truststore.location": "ca.pem",
    }
    assert client_settings(options) == {
        "ssl.key.pem": "KEY",
        "ssl.certificate.pem": "CHAIN",
        "ssl.ca.location": "ca.pem",
    }


def _stream(folder: Path, option: str = "subscribe 'bids'", more: str = "") -> StreamDef:
    source = TOPIC.format(option=option, more=more)
    text = f"CREATE STREAM bid (item BIGINT, ts TIMESTAMP) TIMESTAMP BY ts WINDOW INTERVAL '1' DAY {source};"
    (folder / "bid.sql").write_text(text, encoding="utf-8")
    return read_script(str(folder / "bid.sql")).declarations.streams["bid"]


def _reading(stream: StreamDef, batch_rows: int | None = None) -> TopicReading | None:
    assert stream.reader is not None
    return topic_reading(stream, dict(stream.reader.options), batch_rows, born=4)


def test_a_stream_becomes_what_its_tasks_must_know(tmp_path: Path) -> None:
    reading = _reading(_stream(tmp_path, more="WITH (start = 'latest', ahead = INTERVAL '1' HOUR)"))
    assert reading is not None
    assert (reading.branch.stream, reading.branch.born) == ("bid", 4)
    assert reading.settings == {"bootstrap.servers": "b:9092"}
    assert (reading.topics.names, reading.first, reading.most) == (("bids",), LATEST, OFFSETS_AT_ONCE)
    assert reading.columns == RecordColumns(topic=False, time=True)
    assert TopicReading.unpacked(reading.packed()) == reading


def test_many_topics_and_limits(tmp_path: Path) -> None:
    stream = _stream(tmp_path, "subscribe 'b, a,b', maxOffsetsPerTrigger '7'", "WITH (ahead = 'none')")
    reading = _reading(stream, 50)
    assert reading is not None
    assert (reading.topics.names, reading.first, reading.most) == (("a", "b"), EARLIEST, 7)
    assert reading.columns == RecordColumns(topic=True)
    plain = _reading(_stream(tmp_path), 50)
    assert plain is not None and plain.most == 50


def test_patterns_and_partitions_are_read(tmp_path: Path) -> None:
    pattern = _reading(_stream(tmp_path, "subscribePattern 'b.*'"))
    assert pattern is not None and pattern.topics.among(["sub", "bids", "__b"]) == ("bids",)
    assert pattern.columns.topic
    assigned = _reading(_stream(tmp_path, """assign '{"bids": [2, 0]}'"""))
    assert assigned is not None
    assert (assigned.topics.names, assigned.topics.partitions) == (("bids",), {"bids": (0, 2)})
    assert TopicReading.unpacked(assigned.packed()) == assigned


@pytest.mark.parametrize("option", ["assign 'bids'", "assign '{}'", """assign '{"bids": []}'"""])
def test_what_assigns_nothing_is_refused(tmp_path: Path, option: str) -> None:
    with pytest.raises(UnreadOption, match="option assign"):
        _reading(_stream(tmp_path, option))


def test_a_pattern_that_is_none_is_refused(tmp_path: Path) -> None:
    pattern = _reading(_stream(tmp_path, "subscribePattern '('"))
    assert pattern is not None
    with pytest.raises(RunError, match="subscribePattern is no pattern"):
        pattern.topics.among(["bids"])


def test_topics_need_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seine.topics.topic_consumer.confluent_kafka", None)
    with pytest.raises(RunError, match="reading topics needs the package confluent-kafka"):
        _reading(_stream(tmp_path))


class _Tokens(BaseHTTPRequestHandler):
    """Where clients ask for tokens; what they say of themselves is kept."""

    requests: ClassVar[list[tuple[str, str]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.requests.append((self.headers["Authorization"], body))
        self.send_error(403)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is shown."""


def test_a_client_asks_for_a_token_where_it_is_told() -> None:
    login = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
    with ThreadingHTTPServer(("127.0.0.1", 0), _Tokens) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings = client_settings(
            {
                "kafka.bootstrap.servers": "127.0.0.1:1",
                "kafka.security.protocol": "SASL_PLAINTEXT",
                "kafka.sasl.mechanism": "OAUTHBEARER",
                "kafka.sasl.jaas.config": login + 'clientId="us" clientSecret="word" scope="read";',
                "kafka.sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{server.server_port}/token",
                "kafka.sasl.login.callback.handler.class": "x.OAuthBearerLoginCallbackHandler",
            }
        )
        consumer = TopicConsumer(settings, 1.0)
        deadline = time.monotonic() + 20
        while not _Tokens.requests and time.monotonic() < deadline:
            consumer.client.poll(0.05)
        consumer.close()
        server.shutdown()
    ((credentials, body), *_) = _Tokens.requests
    assert credentials == "Basic " + base64.b64encode(b"us:word").decode()
    assert "client_credentials" in body and "scope=read" in body
