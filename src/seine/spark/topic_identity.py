"""Topics are known by the id that their broker gave them: one that was deleted and made again is another.

Offsets alone do not tell: the new topic may have grown beyond what was read of the old one, and reading would
go on in the middle of it. So the ids are kept in the folder of the pipeline, and compared when it starts.

    first start   bids: Xk3...    kept
    later         bids: Xk3...    the same: go on
                  bids: 9aP...    another topic: refuse
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from seine.algebra.definitions import StreamDef
from seine.errors import RunError
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.durable import write_whole
from seine.runtime.spark_reading import SparkReading
from seine.spark.source_frames import topics_of
from seine.topics.client_settings import PREFIX
from seine.topics.topic_client import topic_ids
from seine.topics.trouble import UnknownTopic

Ids = dict[str, dict[str, str]]  # by branch and topic: a stream made again is another branch

_NO_ID = "A" * 22  # of a topic from before brokers gave ids
_UNKNOWN = "UnknownTopicOrPartitionException"


def check_topics(spark: SparkSession, deployment: Deployment, reading: SparkReading) -> None:
    """Refuse topics that do not exist, or are not those that were read before; note those that are new."""
    streams = {stream.name: stream for stream in reading.streams if _topics(stream)}
    branches = [branch for branch in reading.branches if branch.stream in streams]
    if not branches:
        return
    known: Ids = msgspec.json.decode(_content(deployment.topics), type=Ids)
    ids_now: Ids = {}
    for branch in branches:
        ids = ids_now[f"{branch.stream}@{branch.born}"] = _ids(spark, streams[branch.stream], reading)
        _compare(branch.stream, known.get(f"{branch.stream}@{branch.born}", {}), ids)
    if ids_now != known:
        write_whole(deployment.topics, msgspec.json.encode(ids_now))


def _topics(stream: StreamDef) -> Sequence[str]:
    """The topics that a stream names one by one."""
    named = stream.reader.option("subscribe") if stream.reader and stream.reader.format == "kafka" else None
    return [topic.strip() for topic in (named or "").split(",") if topic.strip()]


def _content(path: str) -> bytes:
    if not os.path.exists(path):
        return b"{}"
    with open(path, "rb") as file:
        return file.read()


def _compare(stream: str, known: Mapping[str, str], ids: Mapping[str, str]) -> None:
    other = [topic for topic, id_ in ids.items() if known.get(topic, id_) != id_]
    if other:
        raise RunError(
            f"topic '{other[0]}' of stream {stream} was deleted and made again since it was read",
            hint="what was not read of the old one is gone; begin with another checkpoint",
        )


def _ids(spark: SparkSession, stream: StreamDef, reading: SparkReading) -> dict[str, str]:
    """The ids of a stream's topics; without those of topics that have none."""
    topics = topics_of(stream, reading)
    if topics is not None:
        ids = topic_ids(topics.settings, topics.topics)
        unknown = [topic for topic in topics.topics if topic not in ids]
        if unknown:
            raise UnknownTopic(unknown[0], stream.name)
    else:
        ids = _ids_by_connector(spark, stream, reading)
    return {topic: id_ for topic, id_ in ids.items() if id_ != _NO_ID}


def _ids_by_connector(spark: SparkSession, stream: StreamDef, reading: SparkReading) -> dict[str, str]:
    """The ids, asked by the client that Spark's connector has."""
    assert stream.reader is not None
    options = reading.secrets.resolved(stream.name, stream.reader)
    named = {key.lower(): value for key, value in options.items()}["subscribe"]
    jvm = spark._jvm
    properties = jvm.java.util.Properties()
    for key, value in options.items():
        if key.lower().startswith(PREFIX):
            properties.put(key[len(PREFIX) :], value)
    admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
    try:
        return {topic.strip(): _id(jvm, admin, stream.name, topic.strip()) for topic in named.split(",")}
    finally:
        admin.close(jvm.java.time.Duration.ofSeconds(1))


def _id(jvm: object, admin: object, stream: str, topic: str) -> str:
    names = jvm.java.util.Collections.singletonList(topic)  # type: ignore[attr-defined]
    try:
        described = admin.describeTopics(names).allTopicNames().get()  # type: ignore[attr-defined]
    except Py4JJavaError as error:
        if _UNKNOWN not in str(error):
            raise
        raise UnknownTopic(topic, stream) from None
    return str(described.get(topic).topicId())
