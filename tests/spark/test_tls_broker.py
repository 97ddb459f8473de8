"""A broker that is reached by TLS alone, and asks for a certificate: topic to topic, keys by options file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from benchmarks.harness.kafka_broker import free_port
from pyspark.sql import SparkSession

from seine.errors import SeineError
from seine.frontends.script.parser import read_script
from seine.run import Options, Run
from seine.spark.spark_host import Restarts, run_on_spark
from tests.support.certificates import self_made_certificate
from tests.support.kafka_broker import private_broker
from tests.support.kafka_topic import committed_lines, create_topic, send

pytestmark = [pytest.mark.spark, pytest.mark.long]

_LISTENERS = """\
listeners=PLAINTEXT://127.0.0.1:{{port}},SSL://127.0.0.1:{tls},CONTROLLER://127.0.0.1:{{controller}}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},SSL://localhost:{tls}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL
inter.broker.listener.name=PLAINTEXT
ssl.client.auth=required
ssl.keystore.type=PEM
ssl.keystore.location={keys}
ssl.truststore.type=PEM
ssl.truststore.location={trusted}
"""
_SCRIPT = """
CREATE STREAM s (v BIGINT, ts BIGINT) TIMESTAMP BY ts USING kafka OPTIONS (subscribe 'closed',
  kafka.bootstrap.servers 'localhost:{tls}', kafka.security.protocol 'SSL',
  kafka.ssl.truststore.type 'PEM', kafka.ssl.truststore.certificates '{trusted}',
  kafka.ssl.keystore.type 'PEM', kafka.ssl.keystore.certificate.chain '{chain}',
  kafka.ssl.keystore.key '${{KEY}}');
CREATE QUERY q AS SELECT v FROM s WHERE v > 1;
CREATE SINK out FROM q INTO 'kafka://localhost:{tls}/answers' WITH (kafka.security.protocol = 'SSL',
  kafka.ssl.ca.location = '{folder}/broker.pem', kafka.ssl.certificate.location = '{folder}/client.pem',
  kafka.ssl.key.location = '{folder}/client.key');
"""


@dataclass(frozen=True)
class ClosedBroker:
    """Where it is reached without TLS, by the test, and with it; certificates are in a folder."""

    servers: str
    tls: int
    folder: Path


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClosedBroker]:
    folder, tls = tmp_path_factory.mktemp("certificates"), free_port()
    broker, key = self_made_certificate(folder, "broker")
    client, _ = self_made_certificate(folder, "client")
    self_made_certificate(folder, "stranger")
    keys = folder / "keys.pem"
    keys.write_text(key.read_text() + broker.read_text())
    with private_broker(_LISTENERS.format(tls=tls, keys=keys, trusted=client)) as process:
        for topic in ("closed", "answers"):
            create_topic(process.servers, topic)
        send(process.servers, "closed", [(0, b'{"v": %d, "ts": %d}' % (n, n)) for n in range(6)])
        yield ClosedBroker(process.servers, tls, folder)


def _run(spark: SparkSession, closed: ClosedBroker, tmp_path: Path, who: str) -> None:
    script, options = tmp_path / "x.sql", closed.folder / "options"
    chain, trusted = (closed.folder / f"{name}.pem" for name in (who, "broker"))
    text = _SCRIPT.format(
        tls=closed.tls, folder=closed.folder, chain=chain.read_text(), trusted=trusted.read_text()
    )
    script.write_text(text, encoding="utf-8")
    options.write_text(f"KEY < {who}.key\n")
    given = Options(out=str(tmp_path / "out.jsonl"), options_file=str(options))
    run = Run(read_script(str(script)), given)
    try:
        run_on_spark(spark, run, restarts=Restarts(most=1))
        run.drain()
    finally:
        run.close()


def test_topics_behind_tls_are_read_and_written(
    spark: SparkSession, closed: ClosedBroker, tmp_path: Path
) -> None:
    _run(spark, closed, tmp_path, "client")
    sent = [json.loads(line)["row"]["v"] for line in committed_lines(closed.servers, "answers")]
    assert sorted(sent) == [2, 3, 4, 5]
    assert (tmp_path / "out.jsonl").read_text().count("\n") == 4


def test_a_certificate_that_the_broker_does_not_know_is_refused_in_one_line(
    spark: SparkSession, closed: ClosedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seine.spark.spark_host._SECONDS_FOR_A_BROKER", {False: 3.0, True: 3.0})
    with pytest.raises(SeineError) as refused:
        _run(spark, closed, tmp_path, "stranger")
    assert "Kafka" in refused.value.message and "\n" not in refused.value.message
    assert "PRIVATE KEY" not in refused.value.render()
