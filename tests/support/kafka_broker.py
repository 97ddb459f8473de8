"""A private Kafka broker for tests, from the jars that scripts/find_kafka has fetched."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.harness import kafka_broker as broker_process
from tests.support.kafka_topic import create_topic, delete_records, delete_topic, send
from tests.support.paths import ROOT


@functools.cache
def _folder() -> Path | None:
    """Where the jars are; None if they cannot be had."""
    answer = subprocess.run([ROOT / "scripts" / "find_kafka"], capture_output=True, text=True, check=True)
    lines = answer.stdout.split()
    return Path(lines[-1]) if lines else None


@contextmanager
def private_broker(more: str = "") -> Iterator[broker_process.BrokerProcess]:
    """A broker of one process, which can be killed; skips the test where it cannot be had.

    `more` are further properties of it.
    """
    jars = _folder()
    if jars is None:
        pytest.skip("no Kafka: see scripts/find_kafka")
    with broker_process.running_broker(jars, more) as broker:
        yield broker


@contextmanager
def kafka_servers() -> Iterator[str]:
    """The address of a broker of one process; skips the test where it cannot be had."""
    with private_broker() as process:
        yield process.servers


class KafkaBroker:
    """A broker's topics: created, deleted, filled."""

    def __init__(self, servers: str) -> None:
        self.servers = servers

    def create_topic(self, name: str, partitions: int) -> None:
        create_topic(self.servers, name, partitions)

    def delete_topic(self, name: str) -> None:
        delete_topic(self.servers, name)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Delete the records of a partition before an offset, as retention does."""
        delete_records(self.servers, topic, partition, before)

    def send(self, topic: str, records: Sequence[tuple[int, bytes | None]], at: int = 0) -> None:
        """Append records, each to its partition; `at` is their time, in milliseconds, else now."""
        send(self.servers, topic, records, at)


@contextmanager
def kafka_broker() -> Iterator[KafkaBroker]:
    """A broker of one process; skips the test where it cannot be had."""
    with kafka_servers() as servers:
        yield KafkaBroker(servers)
