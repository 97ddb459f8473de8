"""Clients of Kafka: a producer of transactions, and what reads the positions that these commit.

The package `confluent-kafka` is an extra, and its own words are turned into one line of ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from seine.errors import SeineError
from seine.intake.allowed_hosts import Hosts, refuse_foreign

try:
    import confluent_kafka
except ImportError:  # a sink that needs it is refused
    confluent_kafka = None

SECONDS = 15.0  # that a broker may take to answer
_PAUSE_SECONDS = 0.1
_SECONDS_BETWEEN_LOOKS = 1.0
_MOST_WAITING = 1_000_000  # records: more than a piece has


def refuse_without_client(sink: str) -> None:
    """Refuse a sink of Kafka where the extra is not installed."""
    if confluent_kafka is None:
        raise SeineError(
            f"sink {sink} needs the package confluent-kafka", hint="pip install 'seine-streams[kafka]'"
        )


class KafkaClient:
    """A producer of one transactional id, and a group of the same name whose offset goes with transactions.

    Law: after `connect` no transaction of an earlier client of this name is open, and none can be committed.
    """

    def __init__(self, name: str, settings: Mapping[str, str], hosts: Hosts | None = None) -> None:
        """Brokers that may be written to are of `hosts`, if these are given."""
        self._name, self._hosts = name, hosts
        self._next_look = 0.0  # at who the brokers are
        self._heard = ""  # the last trouble that a broker's connection had
        common = {**settings, "error_cb": self._hear, "log_level": 0}  # errors are told by us
        sending = {
            "transactional.id": name,
            "partitioner": "murmur2_random",  # as Java's clients do
            "queue.buffering.max.messages": _MOST_WAITING,
        }
        reading = {"group.id": name, "enable.auto.commit": False, "isolation.level": "read_committed"}
        try:
            self._producer = confluent_kafka.Producer({"linger.ms": 5, **common, **sending})
            shared = {key: one for key, one in common.items() if key not in _OF_PRODUCERS}
            self._consumer = confluent_kafka.Consumer({**shared, **reading})
        except (confluent_kafka.KafkaException, ValueError, TypeError) as error:
            raise self._failure(error) from None

    def _hear(self, error: Any) -> None:
        self._heard = error.str()

    def connect(self, topic: str) -> None:
        """End what an earlier client left open."""
        known = self._look(topic).topics[topic]
        if known.error is not None:
            raise SeineError(f"topic {topic}: {known.error.str()}")
        self._ask(lambda: self._producer.init_transactions(SECONDS))

    def _look(self, topic: str) -> Any:
        """What a broker knows of a topic; refuses other brokers that it names and that are not allowed."""
        answer = self._ask(lambda: self._producer.list_topics(topic, SECONDS))
        refuse_foreign(self._hosts, [(one.host, one.port) for one in answer.brokers.values()], "--sink-host")
        self._next_look = time.monotonic() + _SECONDS_BETWEEN_LOOKS
        return answer

    def committed(self, topic: str) -> int | None:
        """The offset of the group that the last transaction committed; None if there is none."""
        place = confluent_kafka.TopicPartition(topic, 0)
        (place,) = self._ask(lambda: self._consumer.committed([place], SECONDS))
        if place.error is not None:
            raise SeineError(f"topic {topic}: {place.error.str()}")
        return int(place.offset) if place.offset >= 0 else None

    def send(self, topic: str, messages: list[dict[str, bytes]], offset: int) -> None:
        """Append records and commit an offset of the group: both or nothing."""
        if self._hosts is not None and time.monotonic() > self._next_look:
            self._look(topic)
        self._ask(self._producer.begin_transaction, again=False)
        produced = self._ask(lambda: self._producer.produce_batch(topic, messages), again=False)
        if produced < len(messages):
            refused = next(one["_error"] for one in messages if "_error" in one)
            raise SeineError(f"topic {topic} refuses a record: {_words(refused)}")
        place = confluent_kafka.TopicPartition(topic, 0, offset)
        group = self._ask(self._consumer.consumer_group_metadata)
        self._ask(lambda: self._producer.send_offsets_to_transaction([place], group, SECONDS))
        self._ask(lambda: self._producer.commit_transaction(2 * SECONDS))

    def close(self) -> None:
        """Let go; a transaction that is open is ended by the broker, or by the next client."""
        self._consumer.close()
        self._producer.purge()
        self._producer.flush(0)

    def _ask(self, call: Callable[[], Any], *, again: bool = True) -> Any:
        """What a call answers; what may be called again, as when a coordinator moves, is, for a while."""
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                return call()
            except (confluent_kafka.KafkaException, BufferError) as error:
                if not again or time.monotonic() > deadline or not _may_pass(error):
                    raise self._failure(error) from None
                time.sleep(_PAUSE_SECONDS)

    def _failure(self, error: Exception) -> SeineError:
        if hasattr(self, "_producer"):
            with suppress(confluent_kafka.KafkaException):
                self._producer.poll(0)  # it may have heard why
        heard = f" ({self._heard})" if self._heard else ""
        return SeineError(f"Kafka: {_words(error.args[0] if error.args else error)}{heard}")


_OF_PRODUCERS = {"compression.type", "linger.ms"}
_PASSING = {14, 15, 16}  # the coordinator of a group is loading, not there yet, or another broker by now


def _may_pass(error: Exception) -> bool:
    reason = error.args[0] if error.args else None
    return isinstance(reason, confluent_kafka.KafkaError) and (
        reason.retriable() or reason.code() in _PASSING
    )


def _words(error: object) -> str:
    return str(error.str()) if hasattr(error, "str") else str(error)
