"""Asks brokers about topics: which partitions they have, how far these go, and which topics they are.

Topics are known by the id that their broker gave them: one that was deleted and made again is another.

Offsets alone do not tell: the new topic may have grown beyond what was read of the old one, and reading would
go on in the middle of it. So the ids are kept in the folder of the pipeline, and compared when it starts and
before each micro-batch is cut.

    first start   bids: Xk3...    kept
    later         bids: Xk3...    the same: go on
                  bids: 9aP...    another topic: refuse

Imports nothing heavy: Spark starts a process for each source.

The newest records of topics, of the last minutes, as tasks would be given them.

bids/0   ..................[====]      what came since then, and of that so many of the newest as may be
bids/1   ........[==============]
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa
from msgspec import Struct

from seine.errors import RunError
from seine.intake.allowed_hosts import Hosts, refuse_foreign
from seine.intake.arrived_records import VALUE
from seine.intake.spark_feed import SourceBranch
from seine.topics.offset_ranges import (
    BrokerSilent,
    OffsetRange,
    Offsets,
    RemadeTopic,
    UnknownTopic,
    UnmatchedPattern,
    ranges_between,
)
from seine.topics.topic_consumer import TopicConsumer, library, may_pass, words_of
from seine.topics.topic_records import ChosenTopics, TopicReading, read_range
from seine.typed_json import json_decoder

EARLIEST, LATEST = -2, -1  # as if they were times, in milliseconds
_SECONDS_BETWEEN_LOOKS = 1.0  # for partitions that are new
_SECONDS_UNKNOWN = 5.0  # that a broker which starts may not know a topic that it knew
_PAUSE_SECONDS = 0.2
_NO_TIME = -1


class TopicClient:
    """Offsets of some topics; partitions that are added to them are seen within a second.

    Law: offsets that are not those of the last call were asked of topics that were still the `known` ones
    afterwards. If one was deleted and made again meanwhile they may be of another topic, and are not given.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        topics: ChosenTopics,
        seconds: float = 60.0,
        known: KnownTopics | None = None,
        hosts: Hosts | None = None,
    ) -> None:
        """Brokers that may be asked are of `hosts`, if these are given."""
        self._settings, self._chosen, self._known, self._hosts = settings, topics, known, hosts
        self._topics = topics.names
        self._consumer = TopicConsumer(settings, seconds)
        self._admin: Any = None
        self._last: Offsets | None = None
        self._places: list[tuple[str, int]] = []
        self._next_look, self._known_at = 0.0, -_SECONDS_UNKNOWN

    def offsets(self, time_of_record: int) -> Offsets:
        """Of each partition the first offset at or after a time; its end if nothing is that late.

        The end is the first offset that is not to be read yet: of committed records, that of the oldest
        transaction that is open.
        """
        while True:
            try:
                return self._offsets(time_of_record)
            except UnknownTopic:
                if time.monotonic() > self._known_at + _SECONDS_UNKNOWN:
                    raise
                self._next_look = 0.0
            time.sleep(_PAUSE_SECONDS)

    def _offsets(self, time_of_record: int) -> Offsets:
        offset_of = self._first_at(self._partitions(), time_of_record)
        later = [place for place, offset in offset_of.items() if offset == _NO_TIME]
        offset_of |= self._first_at(later, LATEST) if later else {}
        offsets: Offsets = {}
        for (topic, partition), offset in sorted(offset_of.items()):
            offsets.setdefault(topic, {})[str(partition)] = offset
        if offsets != self._last:
            self._refuse_remade()
        self._last = offsets
        self._known_at = time.monotonic()
        return offsets

    def _first_at(self, places: Sequence[tuple[str, int]], time_of_record: int) -> dict[tuple[str, int], int]:
        wanted = [library.TopicPartition(*place, time_of_record) for place in places]

        def call(seconds: float) -> list[Any]:
            try:
                answer: list[Any] = self._consumer.client.offsets_for_times(wanted, seconds)
            except library.KafkaException as error:
                if not _is_unknown(error.args[0]):
                    raise
                raise UnknownTopic(self._gone()) from None
            for place in answer:
                _refuse(place.topic, place.error)
            return answer

        return {(place.topic, place.partition): place.offset for place in self._consumer.ask(call)}

    def _gone(self) -> str:
        """A topic that is unknown by now; the first, if all are there again."""
        for topic in self._topics:
            try:
                self._partitions_of(topic)
            except UnknownTopic:
                return topic
        return self._topics[0] if self._topics else self._chosen.pattern

    def _partitions(self) -> list[tuple[str, int]]:
        if time.monotonic() >= self._next_look:
            self._places = [(topic, place) for topic in self.names() for place in self._partitions_of(topic)]
            self._next_look = time.monotonic() + _SECONDS_BETWEEN_LOOKS
        return self._places

    def names(self) -> tuple[str, ...]:
        """The topics that are read; those that match a pattern are looked for."""
        if self._chosen.pattern:
            self._topics = self._chosen.among(self._consumer.ask(self._listed).topics)
            if not self._topics:
                raise UnmatchedPattern(self._chosen.pattern)
        return self._topics

    def _listed(self, seconds: float, *topic: str) -> Any:
        answer = self._consumer.client.list_topics(*topic, timeout=seconds)
        brokers = [(one.host, one.port) for one in answer.brokers.values()]
        refuse_foreign(self._hosts, brokers, "--source-host")
        return answer

    def _partitions_of(self, topic: str) -> list[int]:
        def call(seconds: float) -> Any:
            known = self._listed(seconds, topic).topics[topic]
            _refuse(topic, known.error)
            return known

        there = self._consumer.ask(call).partitions
        wanted = self._chosen.partitions.get(topic, tuple(there))
        if missing := set(wanted) - set(there):
            raise RunError(f"topic '{topic}' has no partition {min(missing)}, which assign names")
        return sorted(wanted)

    def _refuse_remade(self) -> None:
        if self._known is None or not self._known.ids:
            return
        if self._admin is None:
            self._admin = _admin(self._settings)
        ids = self._consumer.ask(lambda seconds: _described(self._admin, self._topics, seconds))
        if gone := [topic for topic in self._topics if topic not in ids]:
            raise UnknownTopic(gone[0])
        self._known.refuse_remade(ids)

    def close(self) -> None:
        self._consumer.close()


def _refuse(topic: str, error: Any) -> None:
    """Raise what a broker says of a topic, if it is an error."""
    if error is not None:
        raise UnknownTopic(topic) if _is_unknown(error) else library.KafkaException(error)


def _is_unknown(error: Any) -> bool:
    return bool(error.code() == library.KafkaError.UNKNOWN_TOPIC_OR_PART)


def topic_ids(settings: Mapping[str, str], topics: Sequence[str], seconds: float = 60.0) -> dict[str, str]:
    """The ids that brokers gave topics, as Java's client writes them; none of a topic that does not exist."""
    try:
        return _described(_admin(settings), topics, seconds)
    except library.KafkaException as error:
        if may_pass(error.args[0]):
            raise BrokerSilent(f"Kafka does not answer: {words_of(error)}") from None
        raise RunError(f"Kafka: {words_of(error)}") from None


def _admin(settings: Mapping[str, str]) -> Any:
    from confluent_kafka.admin import AdminClient

    return AdminClient({**settings, "log_level": 0})


def _described(admin: Any, topics: Sequence[str], seconds: float) -> dict[str, str]:
    deadline = time.monotonic() + seconds
    answers = admin.describe_topics(library.TopicCollection(list(topics)), request_timeout=seconds)
    ids = {}
    for topic, answer in answers.items():
        try:
            id_ = str(answer.result(max(0.0, deadline - time.monotonic()) + 1).topic_id)
            ids[topic] = id_.rstrip("=").translate(_URL_SAFE)
        except library.KafkaException as error:
            if not _is_unknown(error.args[0]):
                raise
    return ids


_URL_SAFE = str.maketrans("+/", "-_")


Ids = dict[str, dict[str, str]]  # by branch and topic: a stream made again is another branch


def kept_ids(content: bytes | None) -> Ids:
    """The ids that were kept; none before the first start."""
    return {} if content is None else json_decoder(Ids).decode(content)


class KnownTopics(Struct, frozen=True):
    """The topics that a stream has been reading: their ids by name."""

    stream: str
    ids: dict[str, str]

    @staticmethod
    def of(kept: Ids, branch: SourceBranch) -> KnownTopics:
        return KnownTopics(branch.stream, kept.get(branch_key(branch), {}))

    def refuse_remade(self, ids: Mapping[str, str]) -> None:
        """Refuse a topic that has another id now; one without an id was made before brokers gave any.

        >>> known = KnownTopics("s", {"bid": "Xk3"})
        >>> known.refuse_remade({"bid": "9aP", "more": "0Bq"})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        seine...RemadeTopic: topic 'bid' of stream s was deleted and made again since it was read
          hint: what was not read of the old one is gone; begin with another checkpoint
        """
        for topic, id_ in ids.items():
            if self.ids.get(topic, id_) != id_:
                raise RemadeTopic(topic, self.stream)


def branch_key(branch: SourceBranch) -> str:
    """
    >>> branch_key(SourceBranch("bid", 7))
    'bid@7'
    """
    return f"{branch.stream}@{branch.born}"


_ANSWER_SECONDS = 5.0  # that a broker may take: somebody waits
_PROBED = 20  # records of each partition, by which the others are judged


def recent_records(
    reading: TopicReading, seconds: float, most_rows: int, most_bytes: int
) -> list[pa.RecordBatch]:
    """Records that came in the last `seconds`, at most about so many rows and bytes: the newest."""
    client = TopicClient(reading.settings, reading.topics, _ANSWER_SECONDS, hosts=reading.hosts)
    try:
        begin = client.offsets(int((time.time() - seconds) * 1000))
        ranges = ranges_between(begin, client.offsets(LATEST))
    finally:
        client.close()
    consumer = TopicConsumer(reading.settings, _ANSWER_SECONDS)  # its own: others may ask at the same time
    try:
        probe = _read(consumer, reading, newest(ranges, _PROBED * len(ranges)), most_bytes)
        rows = sum(batch.num_rows for batch in probe)
        size = sum(batch.column(VALUE).nbytes for batch in probe)
        if not rows or size >= most_bytes:
            return probe
        most = min(most_rows, most_bytes * rows // max(size, 1))
        return _read(consumer, reading, newest(ranges, most), most_bytes)
    finally:
        consumer.close()


def newest(ranges: Sequence[OffsetRange], most: int) -> list[OffsetRange]:
    """The ends of ranges with about `most` records, by shares.

    >>> for one in newest([OffsetRange("t", 0, 0, 300), OffsetRange("t", 1, 50, 150)], 40): print(*one)
    t 0 270 300
    t 1 140 150
    """
    total = sum(one.size for one in ranges)
    if total <= most:
        return [*ranges]
    return [one._replace(begin=one.end - max(1, one.size * most // total)) for one in ranges]


def _read(
    consumer: TopicConsumer, reading: TopicReading, ranges: Sequence[OffsetRange], most_bytes: int
) -> list[pa.RecordBatch]:
    """The records of ranges; after twice the bytes that may be, no more."""
    batches, size = [], 0
    for batch in chain.from_iterable(read_range(consumer, one, reading.columns) for one in ranges):
        batches.append(batch)
        size += batch.column(VALUE).nbytes
        if size > 2 * most_bytes:
            break
    return batches
