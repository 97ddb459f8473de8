"""Asks for the ids of all topics when a pipeline starts, and keeps those that are new.

What they are for: `seine.topics.topic_client`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from seine.algebra.definitions import StreamDef
from seine.disk_sync import write_whole
from seine.errors import RunError
from seine.intake.spark_feed import SourceBranch
from seine.runtime.folder.deployment import Deployment
from seine.runtime.spark_reading import SparkReading
from seine.spark.offset_log import NO_OFFSET, read_offsets
from seine.spark.source_check import connector_admin
from seine.spark.source_frames import topics_of
from seine.topics.offset_ranges import Offsets, refuse_lost
from seine.topics.topic_client import (
    EARLIEST,
    LATEST,
    Ids,
    KnownTopics,
    TopicClient,
    branch_key,
    kept_ids,
    topic_ids,
)
from seine.topics.trouble import UnknownTopic
from seine.typed_json import json_decoder

_NO_ID = "A" * 22  # of a topic from before brokers gave ids
_UNKNOWN = "UnknownTopicOrPartitionException"


def check_topics(
    spark: SparkSession, deployment: Deployment, reading: SparkReading, seconds: float
) -> dict[SourceBranch, RunError]:
    """What `unreadable_branches` says; notes the ids of topics that are new."""
    ids_now, unreadable = _topics_now(spark, deployment, reading, seconds)
    if ids_now and ids_now != kept_ids(deployment.topics):
        write_whole(deployment.topics, msgspec.json.encode(ids_now))
    return unreadable


def unreadable_branches(
    spark: SparkSession, deployment: Deployment, reading: SparkReading, seconds: float
) -> dict[SourceBranch, RunError]:
    """Of the branches whose topics cannot be read, why: a broker may take so many `seconds` to answer.

    A topic is gone, or not the one that was read before, or has lost what is next, or its broker is silent or
    refuses us.
    """
    return _topics_now(spark, deployment, reading, seconds)[1]


def _topics_now(
    spark: SparkSession, deployment: Deployment, reading: SparkReading, seconds: float
) -> tuple[Ids, dict[SourceBranch, RunError]]:
    streams = {stream.name: stream for stream in reading.streams if _topics(stream)}
    offsets = read_offsets(deployment)
    known, ids_now, unreadable = kept_ids(deployment.topics), Ids(), dict[SourceBranch, RunError]()
    for branch in (branch for branch in reading.branches if branch.stream in streams):
        before, stream = KnownTopics.of(known, branch), streams[branch.stream]
        try:
            ids = _ids(spark, stream, reading, seconds)
            before.refuse_remade(ids)
            _refuse_lost(stream, reading, offsets.get(branch, NO_OFFSET), seconds)
        except RunError as error:
            if not before.ids and topics_of(stream, reading) is None:
                raise  # it may not have begun, and Spark's connector would then begin it anywhere
            ids, unreadable[branch] = before.ids, error
        ids_now[branch_key(branch)] = ids
    return ids_now, unreadable


def _topics(stream: StreamDef) -> Sequence[str]:
    """The topics that a stream names one by one."""
    named = stream.reader.option("subscribe") if stream.reader and stream.reader.format == "kafka" else None
    return [topic.strip() for topic in (named or "").split(",") if topic.strip()]


def _ids(spark: SparkSession, stream: StreamDef, reading: SparkReading, seconds: float) -> dict[str, str]:
    """The ids of a stream's topics; without those of topics that have none."""
    topics = topics_of(stream, reading)
    if topics is not None:
        ids = topic_ids(topics.settings, topics.topics, seconds)
        unknown = [topic for topic in topics.topics if topic not in ids]
        if unknown:
            raise UnknownTopic(unknown[0], stream.name)
    else:
        ids = _ids_by_connector(spark, stream, reading)
    return {topic: id_ for topic, id_ in ids.items() if id_ != _NO_ID}


def _refuse_lost(stream: StreamDef, reading: SparkReading, offset: str, seconds: float) -> None:
    """Refuse topics that tasks read, if they lack what follows an offset of Spark's log."""
    topics = topics_of(stream, reading)
    if topics is None or offset == NO_OFFSET:
        return
    client = TopicClient(topics.settings, topics.topics, seconds, hosts=topics.hosts)
    try:
        start = json_decoder(Offsets).decode(offset)
        refuse_lost(start, client.offsets(EARLIEST), client.offsets(LATEST))
    finally:
        client.close()


def _ids_by_connector(spark: SparkSession, stream: StreamDef, reading: SparkReading) -> dict[str, str]:
    """The ids, asked by the client that Spark's connector has."""
    with connector_admin(spark, stream, reading) as admin:
        return {topic: _id(spark._jvm, admin, stream.name, topic) for topic in _topics(stream)}


def _id(jvm: object, admin: object, stream: str, topic: str) -> str:
    names = jvm.java.util.Collections.singletonList(topic)  # type: ignore[attr-defined]
    try:
        described = admin.describeTopics(names).allTopicNames().get()  # type: ignore[attr-defined]
    except Py4JJavaError as error:
        if _UNKNOWN not in str(error):
            raise
        raise UnknownTopic(topic, stream) from None
    return str(described.get(topic).topicId())
