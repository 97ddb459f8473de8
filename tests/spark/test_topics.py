"""Topics of a real broker as tasks read them: offsets that may be read, and exactly their records."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.sql import SparkSession

from seine.errors import RunError, SeineError
from seine.frontends.script.parser import read_script
from seine.intake.allowed_hosts import ForeignBroker
from seine.intake.arrived_records import PARTITIONS, PLACE, VALUE
from seine.runtime.spark_reading import SparkReading
from seine.spark.source_check import check_source
from seine.topics.offset_ranges import LostRecords, Offsets, RemadeTopic, UnknownTopic, ranges_between
from seine.topics.topic_client import EARLIEST, LATEST, KnownTopics, TopicClient, topic_ids
from seine.topics.topic_records import ChosenTopics, RecordColumns, read_ranges
from tests.support.kafka_broker import KafkaBroker

pytestmark = [pytest.mark.spark, pytest.mark.long]


def _only(topic: str) -> ChosenTopics:
    return ChosenTopics((topic,))


def _offsets(kafka: KafkaBroker, topic: str, at: int, **more: str) -> Offsets:
    client = TopicClient({"bootstrap.servers": kafka.servers, **more}, _only(topic))
    try:
        return client.offsets(at)
    finally:
        client.close()


def _records(kafka: KafkaBroker, start: Offsets, end: Offsets, **more: str) -> list[tuple[int, Any]]:
    settings = {"bootstrap.servers": kafka.servers, **more}
    batches = read_ranges(settings, ranges_between(start, end), RecordColumns())
    rows = [row for batch in batches for row in batch.to_pylist()]
    return [(row[PLACE] // PARTITIONS, row[VALUE]) for row in rows]


def _sent(producer: Producer, topic: str, *values: bytes) -> None:
    for value in values:
        producer.produce(topic, value, partition=0)


def test_records_of_transactions(kafka: KafkaBroker) -> None:
    topic = "deals"
    kafka.create_topic(topic, 1)
    producer = Producer({"bootstrap.servers": kafka.servers, "transactional.id": "deals"})
    producer.init_transactions(30)
    for values, done in (((b"a", b"b"), True), ((b"broken", b"off"), False), ((b"c",), True)):
        producer.begin_transaction()
        _sent(producer, topic, *values)
        producer.flush(30)
        producer.commit_transaction(30) if done else producer.abort_transaction(30)
    producer.begin_transaction()
    _sent(producer, topic, b"open")
    producer.flush(30)
    start, end = {topic: {"0": 0}}, _offsets(kafka, topic, LATEST)
    assert end == {topic: {"0": 8}}  # five records and three marks; what is open is not to be read yet
    began = time.monotonic()
    assert _records(kafka, start, end) == [(0, b"a"), (1, b"b"), (6, b"c")]
    assert time.monotonic() - began < 3  # the end of a range that is a mark is not waited for long
    assert _records(kafka, {topic: {"0": 2}}, {topic: {"0": 6}}) == []
    loose = {"isolation.level": "read_uncommitted"}
    everything = _offsets(kafka, topic, LATEST, **loose)
    assert everything == {topic: {"0": 9}}
    assert [value for _, value in _records(kafka, start, everything, **loose)] == [
        *(b"a", b"b", b"broken", b"off", b"c", b"open")
    ]
    producer.abort_transaction(30)


def test_places_in_time(kafka: KafkaBroker) -> None:
    kafka.create_topic("times", 2)
    kafka.send("times", [(0, b"x"), (0, b"y"), (1, b"z")], at=1_000)
    kafka.send("times", [(0, b"late")], at=2_000)
    assert _offsets(kafka, "times", EARLIEST) == {"times": {"0": 0, "1": 0}}
    assert _offsets(kafka, "times", LATEST) == {"times": {"0": 3, "1": 1}}
    assert _offsets(kafka, "times", 1_500) == {"times": {"0": 2, "1": 1}}
    assert _offsets(kafka, "times", 9_000) == {"times": {"0": 3, "1": 1}}


def test_partitions_that_are_added_are_seen(kafka: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seine.topics.topic_client._SECONDS_BETWEEN_LOOKS", 0.0)
    kafka.create_topic("growing", 1)
    client = TopicClient({"bootstrap.servers": kafka.servers}, _only("growing"))
    assert client.offsets(LATEST) == {"growing": {"0": 0}}
    admin = AdminClient({"bootstrap.servers": kafka.servers})
    admin.create_partitions([NewPartitions("growing", 2)])["growing"].result(30)
    deadline = time.monotonic() + 30
    while client.offsets(LATEST) != {"growing": {"0": 0, "1": 0}}:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    client.close()


def test_topics_by_a_pattern_and_by_partitions(kafka: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seine.topics.topic_client._SECONDS_BETWEEN_LOOKS", 0.0)
    settings = {"bootstrap.servers": kafka.servers}
    kafka.create_topic("pat-a", 3)
    assigned = TopicClient(settings, ChosenTopics(("pat-a",), partitions={"pat-a": (0, 2)}))
    assert assigned.offsets(LATEST) == {"pat-a": {"0": 0, "2": 0}}
    assigned.close()
    missing = TopicClient(settings, ChosenTopics(("pat-a",), partitions={"pat-a": (0, 3)}))
    with pytest.raises(RunError, match="topic 'pat-a' has no partition 3, which assign names"):
        missing.offsets(LATEST)
    missing.close()
    client = TopicClient(settings, ChosenTopics(pattern="pat-[ab]"))
    assert client.offsets(LATEST) == {"pat-a": {"0": 0, "1": 0, "2": 0}}
    kafka.create_topic("pat-b", 1)
    kafka.create_topic("not-pat-b", 1)
    deadline = time.monotonic() + 30
    while client.offsets(LATEST) != {"pat-a": {"0": 0, "1": 0, "2": 0}, "pat-b": {"0": 0}}:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    client.close()
    with pytest.raises(UnknownTopic, match="no topic matches the pattern 'none-such'"):
        TopicClient(settings, ChosenTopics(pattern="none-such")).offsets(LATEST)


def test_records_that_a_broker_deleted(kafka: KafkaBroker) -> None:
    kafka.create_topic("trimmed", 1)
    kafka.send("trimmed", [(0, b"%d" % number) for number in range(5)])
    kafka.delete_records("trimmed", 0, 3)
    assert _offsets(kafka, "trimmed", EARLIEST) == {"trimmed": {"0": 3}}
    with pytest.raises(LostRecords, match="partition 0 of topic 'trimmed' has no offset 0 any more"):
        _records(kafka, {"trimmed": {"0": 0}}, {"trimmed": {"0": 5}})
    assert _records(kafka, {"trimmed": {"0": 3}}, {"trimmed": {"0": 5}}) == [(3, b"3"), (4, b"4")]


def test_a_broker_that_names_others_is_not_read_until_these_are_allowed(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path
) -> None:
    """The broker of these tests says that it is 127.0.0.1, however it is asked."""
    port = kafka.servers.rpartition(":")[2]
    kafka.create_topic("named", 1)
    options = f"subscribe 'named', kafka.bootstrap.servers 'localhost:{port}'"
    script = tmp_path / "named.sql"
    script.write_text(
        f"CREATE STREAM s (v BIGINT, ts BIGINT) TIMESTAMP BY ts USING kafka OPTIONS ({options});"
    )
    stream = read_script(str(script)).declarations.streams["s"]
    refused = f"a broker there names {kafka.servers} as another, which is not allowed"
    with pytest.raises(SeineError, match=refused) as error:
        check_source(spark, stream, SparkReading([stream], hosts=("localhost",)))
    assert error.value.hint == "seine serve --source-host 127.0.0.1 allows it"
    check_source(spark, stream, SparkReading([stream], hosts=("localhost", "127.0.0.1")))
    check_source(spark, stream, SparkReading([stream]))


def test_brokers_are_looked_at_again(kafka: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seine.topics.topic_client._SECONDS_BETWEEN_LOOKS", 0.0)
    kafka.create_topic("looked", 1)
    client = TopicClient({"bootstrap.servers": kafka.servers}, _only("looked"), hosts=("127.0.0.1",))
    assert client.offsets(LATEST) == {"looked": {"0": 0}}
    client._hosts = ("elsewhere",)  # as if the broker named another one now
    with pytest.raises(ForeignBroker):
        client.offsets(LATEST)
    client.close()


def test_ids_tell_topics_apart(kafka: KafkaBroker) -> None:
    settings = {"bootstrap.servers": kafka.servers}
    kafka.create_topic("same", 1)
    (first,) = topic_ids(settings, ["same"]).values()
    kafka.delete_topic("same")
    kafka.create_topic("same", 1)
    (second,) = topic_ids(settings, ["same", "no-such-topic"]).values()
    assert first != second and {len(first), len(second)} == {22}
    with pytest.raises(RunError, match="there is no topic 'no-such-topic'"):
        _offsets(kafka, "no-such-topic", LATEST)


@pytest.mark.parametrize("count", [1, 5], ids=["shorter", "longer"])
def test_a_topic_that_is_made_again_under_a_client(kafka: KafkaBroker, count: int) -> None:
    """Its offsets are those of another topic: they are never given."""
    topic, settings = f"under-{count}", {"bootstrap.servers": kafka.servers}
    kafka.create_topic(topic, 1)
    kafka.send(topic, [(0, b"old")] * 3)
    client = TopicClient(
        settings, ChosenTopics((topic,)), known=KnownTopics("bid", topic_ids(settings, [topic]))
    )
    assert client.offsets(LATEST) == {topic: {"0": 3}}
    kafka.send(topic, [(0, b"more")])
    assert client.offsets(LATEST) == {topic: {"0": 4}}
    kafka.delete_topic(topic)
    kafka.create_topic(topic, 1)
    kafka.send(topic, [(0, b"new")] * count)
    with pytest.raises(RemadeTopic, match=f"topic '{topic}' of stream bid was deleted and made again"):
        client.offsets(LATEST)
    client.close()


def test_a_topic_that_goes_under_a_client(kafka: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seine.topics.topic_client._SECONDS_UNKNOWN", 0.5)
    settings = {"bootstrap.servers": kafka.servers}
    kafka.create_topic("going", 1)
    client = TopicClient(settings, _only("going"), known=KnownTopics("bid", topic_ids(settings, ["going"])))
    assert client.offsets(LATEST) == {"going": {"0": 0}}
    kafka.delete_topic("going")
    with pytest.raises(UnknownTopic, match="there is no topic 'going'"):
        _ask_on(client)
    client.close()


def _ask_on(client: TopicClient) -> None:
    """Ask until there is an error: a broker may know a topic for a moment more."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        client.offsets(LATEST)
