"""Records of ranges of offsets, fetched by the task that parses them, as columns of Arrow.

    bids/3 [7, 9)  ->  value  place                 place is offset * PARTITIONS + partition
                       b"{}"  7 * PARTITIONS + 3
                       None   8 * PARTITIONS + 3    (a tombstone)

Law: every record of the ranges that the isolation level shows is given once, in the order of the ranges and
of offsets; a range that cannot be read whole is an error.

What a stream of topics is read with: settings of a client, topics, where to begin, how much at once.

Imports nothing heavy: Spark starts a process for each source.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from seine.algebra.arrays import IntArray
from seine.errors import RunError
from seine.intake.allowed_hosts import Hosts
from seine.intake.arrived_records import PARTITIONS, PLACE, TIME, TOPIC, VALUE
from seine.intake.spark_feed import SourceBranch
from seine.topics.offset_ranges import LostRecords, OffsetRange
from seine.topics.topic_consumer import TopicConsumer, library, may_pass, words_of
from seine.typed_json import json_decoder

_AT_ONCE = 10_000  # records that are taken from the client's queue
_MOMENT = 0.02  # seconds that a full lot is waited for
_PATIENCE = 60.0  # seconds without a record, nor the end of a partition
_MOST_KEPT = 16  # consumers of a worker


_kept: dict[tuple[str, str], TopicConsumer] = {}  # by settings and topic: a worker has many tasks


def read_ranges(
    settings: Mapping[str, str], ranges: Sequence[OffsetRange], columns: RecordColumns
) -> Iterator[pa.RecordBatch]:
    """The records of some ranges."""
    for one in ranges:
        yield from read_range(_consumer(settings, one.topic), one, columns)


def read_range(
    consumer: TopicConsumer, wanted: OffsetRange, columns: RecordColumns
) -> Iterator[pa.RecordBatch]:
    """The records of a range, by a consumer that reads nothing else meanwhile."""
    consumer.client.assign([library.TopicPartition(wanted.topic, wanted.partition, wanted.begin)])
    try:
        for messages in _messages(consumer, wanted):
            yield _columns(messages, wanted, columns)
    finally:
        consumer.client.unassign()


def _consumer(settings: Mapping[str, str], topic: str) -> TopicConsumer:
    """A consumer of this worker: connections are made once."""
    key = (json.dumps(settings, sort_keys=True), topic)
    if key not in _kept:
        if len(_kept) >= _MOST_KEPT:
            _kept.pop(next(iter(_kept))).close()
        _kept[key] = TopicConsumer(settings, _PATIENCE)
    return _kept[key]


def _messages(consumer: TopicConsumer, wanted: OffsetRange) -> Iterator[list[Any]]:
    """The messages of one range, until all of its offsets have been passed."""
    position, deadline = wanted.begin, time.monotonic() + _PATIENCE
    while position < wanted.end:
        given = consumer.client.consume(min(_AT_ONCE, wanted.end - position), _MOMENT)
        events = [one for one in given if one.error() is not None]
        messages = [one for one in given if one.error() is None] if events else given
        passed = max((_passed(event, wanted) for event in events), default=0)
        if messages and messages[-1].offset() >= wanted.end:
            messages, passed = [one for one in messages if one.offset() < wanted.end], wanted.end
        if messages:
            _check(messages, position, wanted)
            passed = max(passed, messages[-1].offset() + 1)
            yield messages
        if passed > position:
            position, deadline = passed, time.monotonic() + _PATIENCE
        elif time.monotonic() > deadline:
            place = f"partition {wanted.partition} of topic '{wanted.topic}'"
            raise consumer.silence(f"{place} gave nothing from offset {position} on")


def _check(messages: Sequence[Any], position: int, wanted: OffsetRange) -> None:
    """Refuse what a client should never give: messages of another partition, or once more."""
    first, last = messages[0], messages[-1]
    if {first.partition(), last.partition()} != {wanted.partition} or first.offset() < position:
        raise RunError(f"the client of Kafka gave records of topic '{wanted.topic}' that nobody asked for")


def _passed(event: Any, wanted: OffsetRange) -> int:
    """The offset that an event which is no record says to have reached; 0 of one that may pass."""
    error, codes = event.error(), library.KafkaError
    if error.code() == codes._PARTITION_EOF:
        return int(event.offset()) if event.partition() == wanted.partition else 0
    if error.code() in (codes._AUTO_OFFSET_RESET, codes.OFFSET_OUT_OF_RANGE):
        raise LostRecords(
            f"partition {wanted.partition} of topic '{wanted.topic}' has no offset {wanted.begin} any more"
        )
    if error.code() in (codes.UNKNOWN_TOPIC_OR_PART, codes._UNKNOWN_PARTITION, codes._UNKNOWN_TOPIC):
        raise LostRecords(f"there is no partition {wanted.partition} of topic '{wanted.topic}' any more")
    if error.code() != codes.GROUP_AUTHORIZATION_FAILED and not may_pass(error):  # we are in no group
        raise RunError(f"Kafka: {words_of(error)}")
    return 0


def _columns(messages: Sequence[Any], wanted: OffsetRange, columns: RecordColumns) -> pa.RecordBatch:
    made: dict[str, Any] = {
        VALUE: pa.array([one.value() for one in messages], pa.binary()),
        PLACE: pa.array(_offsets(messages) * PARTITIONS + wanted.partition),
    }
    if columns.topic:
        made[TOPIC] = pa.repeat(pa.scalar(wanted.topic, pa.string()), len(messages))
    if columns.time:
        made[TIME] = pa.array([one.timestamp()[1] for one in messages], pa.timestamp("ms", "UTC"))
    return pa.RecordBatch.from_pydict(made)


def _offsets(messages: Sequence[Any]) -> IntArray:
    """The offsets of messages of one partition, which increase: mostly by one."""
    first, last = messages[0].offset(), messages[-1].offset()
    if last - first + 1 == len(messages):
        return np.arange(first, last + 1)
    return np.array([one.offset() for one in messages])


class ChosenTopics(Struct, frozen=True):
    """Topics by name, or those whose whole name matches a pattern; of some perhaps only these partitions."""

    names: tuple[str, ...] = ()
    pattern: str = ""
    partitions: dict[str, tuple[int, ...]] = {}

    def among(self, known: Iterable[str]) -> tuple[str, ...]:
        """The names; of a pattern those that match. No pattern takes long, and none matches Kafka's own.

        >>> ChosenTopics(pattern="b.*|__.*").among(["bids", "sub", "bees", "__consumer_offsets"])
        ('bees', 'bids')
        """
        if not self.pattern:
            return self.names
        names = pa.array(sorted(name for name in known if not name.startswith("__")), pa.string())
        try:
            matching = pc.match_substring_regex(names, f"^(?:{self.pattern})$")
        except pa.ArrowInvalid:
            raise RunError(f"subscribePattern is no pattern: '{self.pattern}'") from None
        return tuple(names.filter(matching).to_pylist())


class RecordColumns(Struct, frozen=True):
    """Which columns a stream wants beside value and place."""

    topic: bool = False
    time: bool = False


class TopicReading(Struct, frozen=True):
    """Sent to tasks as it is; its settings may have secrets in them."""

    branch: SourceBranch
    settings: dict[str, str]
    topics: ChosenTopics
    first: int  # the time of the first record, or EARLIEST or LATEST
    most: int  # records in a micro-batch
    columns: RecordColumns
    hosts: Hosts | None = None  # of brokers that may be asked

    def packed(self) -> str:
        return msgspec.json.encode(self).decode()

    @staticmethod
    def unpacked(text: str) -> TopicReading:
        return json_decoder(TopicReading).decode(text)
