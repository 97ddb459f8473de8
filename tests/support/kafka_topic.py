"""Topics of a test's broker: created, and read as a consumer of committed records sees them."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

_SECONDS = 30.0


def create_topic(servers: str, name: str, partitions: int = 1, **settings: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    (made,) = admin.create_topics([NewTopic(name, partitions, 1, config=settings)]).values()
    made.result(_SECONDS)
    deadline = time.monotonic() + _SECONDS
    while any(one.leader < 0 for one in admin.list_topics(name).topics[name].partitions.values()):
        assert time.monotonic() < deadline, f"{name} has partitions without a leader"
        time.sleep(0.1)


def delete_topic(servers: str, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    (gone,) = admin.delete_topics([name]).values()
    gone.result(_SECONDS)


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
