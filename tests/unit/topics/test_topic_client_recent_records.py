"""The newest records of topics: those of the last minutes, so many rows and bytes at most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest

from seine.intake.arrived_records import PARTITIONS, PLACE, VALUE
from seine.intake.spark_feed import SourceBranch
from seine.topics import topic_client as module
from seine.topics.offset_ranges import OffsetRange, Offsets
from seine.topics.topic_client import LATEST, recent_records
from seine.topics.topic_records import ChosenTopics, RecordColumns, TopicReading

READING = TopicReading(SourceBranch("s"), {}, ChosenTopics(("t",)), 0, 10, RecordColumns(), ("b1",))


class FakeBroker:
    """Partitions of one topic: of each, how many records are old and how many new; each has some bytes."""

    def __init__(self, partitions: Mapping[int, tuple[int, int]], size: int) -> None:
        self.partitions, self.size, self.closed = partitions, size, 0

    def __call__(self, settings: object, topics: ChosenTopics, seconds: float, hosts: object) -> FakeBroker:
        assert topics.names == ("t",) and hosts == ("b1",)
        return self

    def offsets(self, time_of_record: int) -> Offsets:
        ends = {
            str(p): old + (new if time_of_record == LATEST else 0)
            for p, (old, new) in self.partitions.items()
        }
        return {"t": ends}

    def close(self) -> None:
        self.closed += 1

    def read_range(
        self, consumer: FakeConsumer, one: OffsetRange, columns: object
    ) -> Iterator[pa.RecordBatch]:
        assert not consumer.closed
        places = [offset * PARTITIONS + one.partition for offset in range(one.begin, one.end)]
        values = pa.array([b"x" * self.size] * one.size, pa.binary())
        yield pa.RecordBatch.from_pydict({VALUE: values, PLACE: pa.array(places, pa.int64())})


class FakeConsumer:
    """A consumer; each question has one of its own."""

    def __init__(self, settings: object, seconds: float) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def _given(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch, **bounds: Any) -> dict[int, list[int]]:
    monkeypatch.setattr(module, "TopicClient", broker)
    monkeypatch.setattr(module, "read_range", broker.read_range)
    consumers: list[FakeConsumer] = []

    def consumer(settings: object, seconds: float) -> FakeConsumer:
        consumers.append(FakeConsumer(settings, seconds))
        return consumers[-1]

    monkeypatch.setattr(module, "TopicConsumer", consumer)
    batches = recent_records(READING, 300.0, **bounds)
    assert broker.closed == 1 and [one.closed for one in consumers] == [1]
    given: dict[int, list[int]] = {}
    for batch in batches:
        for place in batch.column(PLACE).to_pylist():
            offset, partition = divmod(place, PARTITIONS)
            given.setdefault(partition, []).append(offset)
    return given


def test_what_is_new_is_given_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = FakeBroker({0: (100, 50), 1: (0, 30), 2: (7, 0)}, size=10)
    given = _given(broker, monkeypatch, most_rows=1000, most_bytes=1 << 20)
    assert given == {0: [*range(100, 150)], 1: [*range(30)]}


def test_of_too_many_the_newest_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = FakeBroker({0: (0, 9000), 1: (50, 1000)}, size=10)
    given = _given(broker, monkeypatch, most_rows=100, most_bytes=1 << 20)
    assert given == {0: [*range(8910, 9000)], 1: [*range(1040, 1050)]}


def test_large_records_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = FakeBroker({0: (0, 5000)}, size=1000)
    given = _given(broker, monkeypatch, most_rows=10_000, most_bytes=100_000)
    assert 50 <= len(given[0]) <= 100 and given[0][-1] == 4999


def test_huge_records_end_it_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = FakeBroker(dict.fromkeys(range(50), (0, 100)), size=100_000)
    given = _given(broker, monkeypatch, most_rows=10_000, most_bytes=1_000_000)
    assert 10 <= sum(map(len, given.values())) <= 60


def test_nothing_new_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _given(FakeBroker({0: (5, 0)}, 1), monkeypatch, most_rows=10, most_bytes=10) == {}
