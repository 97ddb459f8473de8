"""A look at the sources that Spark reads: whether one can be opened, and how far each has been read.

The client of Kafka that Spark's connector brings, for questions about topics and brokers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from seine.algebra.definitions import StreamDef
from seine.errors import RunError, SeineError
from seine.intake.allowed_hosts import ForeignBroker, refuse_foreign
from seine.runtime.spark_reading import SparkPosition, SparkReading
from seine.spark.pipeline_death import reason_of
from seine.spark.source_frames import open_frame, topics_of
from seine.topics.client_settings import PREFIX
from seine.topics.topic_client import EARLIEST, TopicClient
from seine.topics.topic_records import TopicReading

_SECONDS_FOR_A_BROKER = 15
_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_BETWEEN_IDLE_LOOKS = 10.0  # as often as Spark reports that it found nothing


def check_source(spark: SparkSession, stream: StreamDef, reading: SparkReading) -> None:
    """Refuse a stream that Spark cannot open, or whose topics no broker has."""
    topics = topics_of(stream, reading)
    if topics is not None:
        _check_topics(stream, topics, reading)
        return
    open_frame(spark, stream, reading)
    if stream.reader is None or stream.reader.format != "kafka":
        return
    options = reading.secrets.resolved(stream.name, stream.reader)
    options |= {
        "startingOffsets": "earliest",
        "kafka.default.api.timeout.ms": f"{_SECONDS_FOR_A_BROKER}000",
        "kafka.request.timeout.ms": f"{_SECONDS_FOR_A_BROKER}000",
    }
    try:
        if reading.hosts is not None:
            with connector_admin(spark, stream, reading):
                pass  # it refuses brokers that are not allowed
        frame = spark.read.format("kafka").options(**options).load()
        frame._jdf.queryExecution().toRdd().getNumPartitions()  # asks for the offsets of every partition
    except ForeignBroker as error:
        raise _unreadable(stream, error.message, error.hint) from None
    except (PySparkException, Py4JError) as error:
        raise _unreadable(stream, reading.secrets.hide(_reason(error))) from None


def _check_topics(stream: StreamDef, topics: TopicReading, reading: SparkReading) -> None:
    try:
        client = TopicClient(topics.settings, topics.topics, _SECONDS_FOR_A_BROKER, hosts=topics.hosts)
        try:
            client.offsets(EARLIEST)
        finally:
            client.close()
    except RunError as error:
        raise _unreadable(stream, reading.secrets.hide(error.message), error.hint) from None


def _unreadable(stream: StreamDef, reason: str, hint: str | None = None) -> SeineError:
    return SeineError(
        f"Spark cannot read stream {stream.name}: {reason}",
        hint=hint or "is the broker there, and the topic?",
    )


def _reason(error: BaseException) -> str:
    """What Java says that went wrong first."""
    java = getattr(error, "java_exception", None)
    while java is not None and java.getCause() is not None:
        java = java.getCause()
    return reason_of(error) if java is None else str(java.getMessage() or java.toString())


class SourcePositions:
    """Tells the door of a service how far its streams are read: a second after something was committed."""

    def __init__(self, reading: SparkReading) -> None:
        self._reading = reading
        self._committed, self._moved = -1, 0.0
        self._next_look = 0.0

    def look(self, query: StreamingQuery, committed: int) -> None:
        """Note what Spark reported last, if that is due; `committed` is the last entry that was."""
        now = time.monotonic()
        if committed != self._committed:
            self._committed, self._moved = committed, now
            self._next_look = min(self._next_look, now + _SECONDS_BETWEEN_LOOKS)
        if not self._reading.branches or now < self._next_look:
            return
        progress = query.lastProgress
        fresh = progress is None or now - self._moved < _SECONDS_BETWEEN_LOOKS  # Spark reports a little later
        self._next_look = now + (_SECONDS_BETWEEN_LOOKS if fresh else _SECONDS_BETWEEN_IDLE_LOOKS)
        branches = self._reading.branches
        if progress is None or len(progress.sources) != 1 + len(branches):
            return
        self._reading.door.trouble = ""
        self._reading.door.tell(
            {
                branch.stream: SparkPosition(
                    source.endOffset or "", _behind(source.endOffset, source.latestOffset)
                )
                for branch, source in zip(branches, progress.sources[1:], strict=True)
            }
        )


def _behind(end: str | None, latest: str | None) -> int | None:
    """The rows of topics that are there and not read; None of a source whose offsets are of another form.

    >>> _behind('{"bids": {"0": 4, "1": 9}}', '{"bids": {"0": 10, "1": 9}}')
    6
    >>> _behind('{"logOffset": 3}', None)
    """
    try:
        read: dict[str, dict[str, int]] = json.loads(end or "")
        there: dict[str, dict[str, int]] = json.loads(latest or "")
        known = {(topic, place): count for topic, places in read.items() for place, count in places.items()}
        return sum(
            count - known.get((topic, place), 0)
            for topic, places in there.items()
            for place, count in places.items()
        )
    except (ValueError, AttributeError, TypeError):
        return None


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
