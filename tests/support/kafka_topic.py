"""Topics of a test's broker: created, filled, and read as a consumer of committed records sees them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

_SECONDS = 60.0


def create_topic(servers: str, name: str, partitions: int = 1, **settings: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    (made,) = admin.create_topics([NewTopic(name, partitions, 1, config=settings)]).values()
    made.result(_SECONDS)
    deadline = time.monotonic() + _SECONDS
    while (fault := _fault(admin, name, partitions)) is not None:
        assert time.monotonic() < deadline, f"{name} has partitions that do not answer: {fault}"
        time.sleep(0.1)


def _fault(admin: AdminClient, name: str, partitions: int) -> KafkaException | None:
    """Why a partition does not answer yet: a broker can name its leader some time before it does."""
    ends = {TopicPartition(name, partition): OffsetSpec.latest() for partition in range(partitions)}
    try:
        for answer in admin.list_offsets(ends, request_timeout=_SECONDS).values():
            answer.result(_SECONDS)
    except KafkaException as fault:
        return fault
    return None


def delete_topic(servers: str, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    (gone,) = admin.delete_topics([name]).values()
    gone.result(_SECONDS)


def delete_records(servers: str, topic: str, partition: int, before: int) -> None:
    """Delete the records of a partition before an offset, as retention does."""
    admin = AdminClient({"bootstrap.servers": servers})
    (gone,) = admin.delete_records([TopicPartition(topic, partition, before)]).values()
    gone.result(_SECONDS)


def send(servers: str, topic: str, records: Sequence[tuple[int, bytes | None]], at: int = 0) -> None:
    """Append records, each to its partition; `at` is their time, in milliseconds, else now."""
    faults: list[KafkaError] = []

    def note(fault: KafkaError | None, _: Message) -> None:
        if fault is not None:
            faults.append(fault)

    producer = Producer({"bootstrap.servers": servers, "message.max.bytes": 33_554_432, "linger.ms": 5})
    for partition, value in records:
        producer.produce(topic, value, partition=partition, timestamp=at, on_delivery=note)
    assert producer.flush(_SECONDS) == 0 and not faults, f"{topic} was not filled: {faults}"


def committed_records(servers: str, topic: str, partitions: int = 1) -> list[Message]:
    """All committed records of a topic, partition by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "test",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    records: list[Message] = []
    try:
        for partition in range(partitions):
            consumer.assign([TopicPartition(topic, partition, 0)])
            while True:
                message = consumer.poll(_SECONDS)
                assert message is not None, "the broker is silent"
                if message.error() is not None:
                    break  # the end of the partition
                records.append(message)
    finally:
        consumer.close()
    return records


def committed_lines(servers: str, topic: str, partitions: int = 1) -> list[bytes]:
    """Their values, as lines."""
    return [bytes(one.value()) + b"\n" for one in committed_records(servers, topic, partitions)]
