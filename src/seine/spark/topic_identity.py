"""Asks for the ids of all topics when a pipeline starts, and keeps those that are new.

What they are for: `seine.topics.known_topics`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from seine.algebra.definitions import StreamDef
from seine.intake.source_branch import SourceBranch
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.durable import write_whole
from seine.runtime.spark_reading import SparkReading
from seine.spark.connector_admin import connector_admin
from seine.spark.source_frames import topics_of
from seine.topics.known_topics import Ids, KnownTopics, branch_key, kept_ids
from seine.topics.topic_client import topic_ids
from seine.topics.trouble import RemadeTopic, UnknownTopic

_NO_ID = "A" * 22  # of a topic from before brokers gave ids
_UNKNOWN = "UnknownTopicOrPartitionException"


def check_topics(
    spark: SparkSession, deployment: Deployment, reading: SparkReading
) -> dict[SourceBranch, RemadeTopic]:
    """The branches whose topics are not those that were read before; notes the ids of topics that are new.

    Topics that do not exist are refused.
    """
    streams = {stream.name: stream for stream in reading.streams if _topics(stream)}
    known, ids_now, remade = kept_ids(deployment.topics), Ids(), dict[SourceBranch, RemadeTopic]()
    for branch in (branch for branch in reading.branches if branch.stream in streams):
        ids, before = _ids(spark, streams[branch.stream], reading), KnownTopics.of(known, branch)
        try:
            before.refuse_remade(ids)
        except RemadeTopic as error:
            ids, remade[branch] = before.ids, error
        ids_now[branch_key(branch)] = ids
    if ids_now and ids_now != known:
        write_whole(deployment.topics, msgspec.json.encode(ids_now))
    return remade


def _topics(stream: StreamDef) -> Sequence[str]:
    """The topics that a stream names one by one."""
    named = stream.reader.option("subscribe") if stream.reader and stream.reader.format == "kafka" else None
    return [topic.strip() for topic in (named or "").split(",") if topic.strip()]


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
