"""Records of ranges: each once, in order, with its place; offsets without records, ends, and lost records."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, TopicPartition

from seine.errors import RunError
from seine.intake.arrived_records import PARTITIONS, PLACE, TIME, TOPIC, VALUE
from seine.topics import topic_records
from seine.topics.offset_ranges import BrokerSilent, LostRecords, OffsetRange
from seine.topics.topic_records import RecordColumns, read_ranges
from tests.support.seeds import seeds


@dataclass(frozen=True)
class FakeMessage:
    """A message of a client, or one of its events."""

    place: int
    at: int
    content: bytes | None = None
    code: int | None = None

    def error(self) -> KafkaError | None:
        return None if self.code is None else KafkaError(self.code)

    def offset(self) -> int:
        return self.at

    def partition(self) -> int:
        return self.place

    def value(self) -> bytes | None:
        return self.content if self.code is None else b"words of an error"

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_000 + self.at


@dataclass
class FakeTopic:
    """Partitions as offset -> value; what is missing are marks of transactions, or is gone."""

    partitions: dict[int, dict[int, bytes | None]]
    ends: dict[int, int]
    rng: random.Random = field(default_factory=lambda: random.Random(0))
    trouble: list[int] = field(default_factory=list)  # codes of events that come first
    closed: bool = False

    def assign(self, places: list[TopicPartition]) -> None:
        (place,) = places
        self._events = self._play(place.partition, place.offset)

    def unassign(self) -> None:
        self._events = iter(())

    def close(self) -> None:
        self.closed = True

    def poll(self, seconds: float) -> None:
        """Nothing was heard."""

    def _play(self, place: int, offset: int) -> Iterator[FakeMessage]:
        for code in self.trouble:
            yield FakeMessage(-1, -1001, code=code)
        known = self.partitions[place]
        yield from (FakeMessage(place, at, known[at]) for at in sorted(known) if at >= offset)
        yield FakeMessage(place, self.ends[place], code=KafkaError._PARTITION_EOF)

    def consume(self, most: int, seconds: float) -> list[FakeMessage]:
        count = self.rng.randrange(most + 1)
        return [one for _, one in zip(range(count), self._events, strict=False)]


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTopic]:
    topic = FakeTopic({}, {})
    monkeypatch.setattr("seine.topics.topic_consumer.confluent_kafka.Consumer", lambda settings: topic)
    monkeypatch.setattr(topic_records, "_PATIENCE", 0.2)
    topic_records._kept.clear()
    yield topic
    topic_records._kept.clear()


def _read(ranges: list[OffsetRange], columns: RecordColumns | None = None) -> pa.Table:
    return pa.Table.from_batches([*read_ranges({"client.id": "x"}, ranges, columns or RecordColumns())])


@seeds(20)
def test_every_record_of_the_ranges_once(client: FakeTopic, seed: int) -> None:
    client.rng = rng = random.Random(seed)
    ranges, expected = [], []
    for place in range(rng.randrange(1, 4)):
        end = rng.randrange(1, 60)
        there = sorted(rng.sample(range(end), rng.randrange(end + 1)))
        client.partitions[place] = {at: rng.choice([None, b"%d" % at]) for at in there}
        client.ends[place] = end + rng.choice([0, 3])
        begin, last = sorted(rng.choices(range(end + 1), k=2))
        if begin == last:
            continue
        ranges.append(OffsetRange("t", place, begin, last))
        expected += [(client.partitions[place][at], at, place) for at in there if begin <= at < last]
    columns = RecordColumns(topic=True, time=True)
    batches = [*read_ranges({}, ranges, columns)]
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [(row[VALUE], *divmod(row[PLACE], PARTITIONS)) for row in rows] == expected
    assert all(row[TOPIC] == "t" for row in rows)
    assert [round(row[TIME].timestamp() * 1000) for row in rows] == [1_000 + at for _, at, _ in expected]


def test_trouble_that_passes_is_waited_for(client: FakeTopic) -> None:
    client.trouble = [
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
    ]
    client.partitions[0], client.ends[0] = {0: b"a", 1: b"b"}, 2
    assert _read([OffsetRange("t", 0, 0, 2)])[VALUE].to_pylist() == [b"a", b"b"]
    assert _read([OffsetRange("t", 0, 0, 2)]).column_names == [VALUE, PLACE]


@pytest.mark.parametrize(
    ("code", "kind", "reason"),
    [
        (KafkaError._AUTO_OFFSET_RESET, LostRecords, "partition 3 of topic 't' has no offset 5 any more"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, LostRecords, "there is no partition 3 of topic 't' any more"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, RunError, "Kafka: .*[Aa]uthorization failed"),
    ],
)
def test_what_cannot_be_read_is_told(client: FakeTopic, code: int, kind: type[RunError], reason: str) -> None:
    client.trouble, client.partitions[3], client.ends[3] = [code], {9: b"z"}, 10
    with pytest.raises(kind, match=reason):
        _read([OffsetRange("t", 3, 5, 10)])


def test_a_partition_that_ends_too_early_is_no_end(client: FakeTopic) -> None:
    client.partitions[0], client.ends[0] = {0: b"a"}, 1
    with pytest.raises(BrokerSilent, match="partition 0 of topic 't' gave nothing from offset 1 on"):
        _read([OffsetRange("t", 0, 0, 2)])


def test_records_of_another_partition_are_refused(client: FakeTopic) -> None:
    client.partitions[0], client.ends[0] = {0: b"a"}, 1
    client.assign = lambda places: setattr(client, "_events", iter([FakeMessage(7, 0, b"x")]))  # type: ignore[method-assign]
    with pytest.raises(RunError, match="nobody asked for"):
        _read([OffsetRange("t", 0, 0, 1)])


def test_a_worker_keeps_few_connections(client: FakeTopic) -> None:
    client.partitions[0], client.ends[0] = {0: b"a"}, 1
    for number in range(topic_records._MOST_KEPT):
        _read([OffsetRange(f"t{number}", 0, 0, 1)])
    assert not client.closed and len(topic_records._kept) == topic_records._MOST_KEPT
    _read([OffsetRange("one more", 0, 0, 1)])
    assert client.closed and len(topic_records._kept) == topic_records._MOST_KEPT
