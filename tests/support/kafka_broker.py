"""A private Kafka broker for tests, from the jars that scripts/find_kafka has fetched."""

from __future__ import annotations

import functools
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from seine.bench.harness import kafka_broker as broker_process
from tests.support.paths import ROOT

_READY_SECONDS = 60.0


@functools.cache
def _folder() -> Path | None:
    """Where the jars are; None if they cannot be had."""
    answer = subprocess.run([ROOT / "scripts" / "find_kafka"], capture_output=True, text=True, check=True)
    lines = answer.stdout.split()
    return Path(lines[-1]) if lines else None


def connector_jars() -> str:
    """The jars that Spark needs to read topics, with commas between them; empty if they cannot be had."""
    folder = _folder()
    return "" if folder is None else broker_process.connector_jars(folder)


@contextmanager
def private_broker() -> Iterator[broker_process.BrokerProcess]:
    """A broker of one process, which can be killed; skips the test where it cannot be had."""
    jars = _folder()
    if jars is None:
        pytest.skip("no Kafka: see scripts/find_kafka")
    with broker_process.running_broker(jars) as broker:
        yield broker


@contextmanager
def kafka_servers() -> Iterator[str]:
    """The address of a broker of one process; skips the test where it cannot be had."""
    with private_broker() as process:
        yield process.servers


class KafkaBroker:
    """A broker, and its producers and administrator in the JVM of Spark."""

    def __init__(self, spark: SparkSession, servers: str) -> None:
        self.servers = servers
        self._jvm: Any = spark._jvm
        self._admin = self._jvm.org.apache.kafka.clients.admin.AdminClient.create(self._properties())

    def _properties(self, **more: str) -> Any:
        properties = self._jvm.java.util.Properties()
        for name, value in {"bootstrap.servers": self.servers, **more}.items():
            properties.put(name, value)
        return properties

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic, and wait until each of its partitions has a leader."""
        topic = self._jvm.org.apache.kafka.clients.admin.NewTopic(name, partitions, 1)
        self._admin.createTopics(self._jvm.java.util.Collections.singleton(topic)).all().get()
        deadline = time.monotonic() + _READY_SECONDS
        while not self._is_led(name, partitions):
            assert time.monotonic() < deadline, f"{name} has partitions without a leader"
            time.sleep(0.1)

    def _is_led(self, name: str, partitions: int) -> bool:
        names = self._jvm.java.util.Collections.singletonList(name)
        known = self._admin.describeTopics(names).allTopicNames().get().get(name).partitions()
        return known.size() == partitions and all(one.leader() is not None for one in known)

    def delete_topic(self, name: str) -> None:
        self._admin.deleteTopics(self._jvm.java.util.Collections.singleton(name)).all().get()

    def send(self, topic: str, records: Sequence[tuple[int, bytes | None]], at: int | None = None) -> None:
        """Append records, each to its partition; `at` is their time, in milliseconds."""
        record = self._jvm.org.apache.kafka.clients.producer.ProducerRecord
        producer = self._producer()
        sent = [producer.send(record(topic, place, at, None, value, None)) for place, value in records]
        for one in sent:
            one.get()  # raises what went wrong
        producer.close()

    def _producer(self) -> Any:
        """A producer for one sending: it knows nothing of topics that have changed since."""
        serializer = "org.apache.kafka.common.serialization.ByteArraySerializer"
        sending = {
            "key.serializer": serializer,
            "value.serializer": serializer,
            "max.request.size": "33554432",
            "linger.ms": "5",
        }
        return self._jvm.org.apache.kafka.clients.producer.KafkaProducer(self._properties(**sending))

    def close(self) -> None:
        self._admin.close()


@contextmanager
def kafka_broker(spark: SparkSession) -> Iterator[KafkaBroker]:
    """A broker of one process; skips the test where it cannot be had."""
    with kafka_servers() as servers:
        broker = KafkaBroker(spark, servers)
        yield broker
        broker.close()
