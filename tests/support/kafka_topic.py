"""Topics of a test's broker: created, filled, and read as a consumer of committed records sees them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

_SECONDS = 60.0
_NOT_YET = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
)


def create_topic(servers: str, name: str, partitions: int = 1, **settings: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    (made,) = admin.create_topics([NewTopic(name, partitions, 1, config=settings)]).values()
    made.result(_SECONDS)
    deadline = time.monotonic() + _SECONDS
    while not _serves(admin, name, partitions):
        assert time.monotonic() < deadline, f"{name} has partitions that do not answer"
        time.sleep(0.1)


def _serves(admin: AdminClient, name: str, partitions: int) -> bool:
    """Whether the leader of each partition answers: a broker can name it some time before."""
    ends = {TopicPartition(name, partition): OffsetSpec.latest() for partition in range(partitions)}
    try:
        for answer in admin.list_offsets(ends, request_timeout=_SECONDS).values():
            answer.result(_SECONDS)
    except KafkaException as error:
        if not error.args[0].retriable() and error.args[0].code() not in _NOT_YET:
            raise
        return False
    return True


def delete_topic(servers: str, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    (gone,) = admin.delete_topics([name]).values()
    gone.result(_SECONDS)


def send(servers: str, topic: str, records: Sequence[tuple[int, bytes | None]], at: int = 0) -> None:
    """Append records, each to its partition; `at` is their time, in milliseconds, else now."""
    faults: list[KafkaError] = []

    def told(fault: KafkaError | None, _: Message) -> None:
        if fault is not None:
            faults.append(fault)

    producer = Producer({"bootstrap.servers": servers, "message.max.bytes": 33_554_432, "linger.ms": 5})
    for partition, value in records:
        producer.produce(topic, value, partition=partition, timestamp=at, on_delivery=told)
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
