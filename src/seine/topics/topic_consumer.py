"""A client of librdkafka's that reads what it is told to: in no group, and committing nothing.

The package `confluent-kafka` is an extra: without it no topic is read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from seine.errors import RunError
from seine.topics.offset_ranges import BrokerSilent

try:
    import confluent_kafka
except ImportError:
    confluent_kafka = None
library: Any = confluent_kafka

_PAUSE_SECONDS = 0.05
_DEFAULTS = {
    "group.id": "seine",  # librdkafka wants one, and never joins it
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",  # what is not there any more is told, never passed over
    "enable.partition.eof": True,  # the last offsets of a range may be marks of transactions
    "isolation.level": "read_committed",  # what a transaction that was broken off wrote never counts
    "fetch.wait.max.ms": 2,  # there is something to fetch: what we wait for is the end of a partition
    "fetch.queue.backoff.ms": 2,
    "max.partition.fetch.bytes": 1024 * 1024,
    "queued.min.messages": 10_000,  # what is fetched beyond a range was fetched in vain
    "receive.message.max.bytes": 2**31 - 1,  # a huge record is a dead letter, and not the end
    "message.max.bytes": 1_000,  # of who sends; it may not be more than what is fetched at once
    "reconnect.backoff.max.ms": 1_000,
    "log_level": 0,  # errors are told by us
}


def require_client() -> None:
    """Refuse to read topics where the package is not installed."""
    if confluent_kafka is None:
        raise RunError(
            "reading topics needs the package confluent-kafka", hint="pip install 'seine-streams[kafka]'"
        )


class TopicConsumer:
    """A consumer of confluent-kafka's, whose errors become one line."""

    def __init__(self, settings: Mapping[str, str], seconds: float) -> None:
        """A broker may take so many `seconds` to answer."""
        require_client()
        self._seconds = seconds
        self._heard = ""  # the last trouble that a connection had
        try:
            self.client = confluent_kafka.Consumer({**_DEFAULTS, **settings, "error_cb": self._hear})
        except (confluent_kafka.KafkaException, ValueError, TypeError) as error:
            raise RunError(f"Kafka: {words_of(error)}") from None

    def _hear(self, error: Any) -> None:
        self._heard = str(error.str())

    def ask(self, call: Callable[[float], Any]) -> Any:
        """What a call answers that is given a number of seconds; what may pass is tried again for a while."""
        deadline = time.monotonic() + self._seconds
        while True:
            left = deadline - time.monotonic()
            try:
                return call(max(left, _PAUSE_SECONDS))
            except confluent_kafka.KafkaException as error:
                if not may_pass(error.args[0]):
                    raise RunError(f"Kafka: {words_of(error)}") from None
                if left <= 0:
                    raise self.silence(words_of(error)) from None
            time.sleep(_PAUSE_SECONDS)

    def silence(self, reason: str) -> BrokerSilent:
        """The broker did not do what it was asked for in time."""
        self.client.poll(0)  # it may have heard why
        return BrokerSilent(f"Kafka does not answer: {self._heard or reason}")

    def close(self) -> None:
        self.client.close()


def may_pass(error: Any) -> bool:
    """Whether an error is one of the network, or of a broker that is about to know better."""
    codes = confluent_kafka.KafkaError
    network = {codes._TRANSPORT, codes._ALL_BROKERS_DOWN, codes._TIMED_OUT, codes._RESOLVE, codes._WAIT_CACHE}
    leader = {codes.LEADER_NOT_AVAILABLE, codes.NOT_LEADER_FOR_PARTITION, codes.REPLICA_NOT_AVAILABLE}
    epoch = {codes.FENCED_LEADER_EPOCH, codes.UNKNOWN_LEADER_EPOCH, codes.OFFSET_NOT_AVAILABLE}
    late = {codes.REQUEST_TIMED_OUT, codes.NETWORK_EXCEPTION, codes.BROKER_NOT_AVAILABLE}
    return bool(error.retriable()) or error.code() in network | leader | epoch | late


def words_of(error: object) -> str:
    """What the library says of an error, without its codes."""
    inner = error.args[0] if isinstance(error, Exception) and error.args else error
    return str(inner.str()) if hasattr(inner, "str") else str(inner)
