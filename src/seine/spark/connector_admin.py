"""The client of Kafka that Spark's connector brings, for questions about topics and brokers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from seine.algebra.definitions import StreamDef
from seine.intake.allowed_hosts import refuse_foreign
from seine.runtime.spark_reading import SparkReading
from seine.topics.client_settings import PREFIX


@contextmanager
def connector_admin(spark: SparkSession, stream: StreamDef, reading: SparkReading) -> Iterator[Any]:
    """A client for a stream; refuses brokers that are named there and not allowed."""
    assert stream.reader is not None
    jvm: Any = spark._jvm
    properties = jvm.java.util.Properties()
    for key, value in reading.secrets.resolved(stream.name, stream.reader).items():
        if key.lower().startswith(PREFIX):
            properties.put(key[len(PREFIX) :], value)
    admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
    try:
        if reading.hosts is not None:
            nodes = jvm.java.util.ArrayList(admin.describeCluster().nodes().get())
            refuse_foreign(reading.hosts, [(node.host(), node.port()) for node in nodes], "--source-host")
        yield admin
    finally:
        admin.close(jvm.java.time.Duration.ofSeconds(1))
