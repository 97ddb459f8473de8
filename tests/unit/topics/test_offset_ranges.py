"""Ranges of offsets: everything between two offsets is read once, whatever the limits and the tasks."""

from __future__ import annotations

import random

import pytest

from seine.topics.offset_ranges import (
    LostRecords,
    OffsetRange,
    Offsets,
    TaskRanges,
    limited,
    partition_names,
    ranges_between,
    refuse_lost,
    shared_out,
)
from tests.support.seeds import seeds


def _grown(rng: random.Random, start: Offsets) -> Offsets:
    """Later offsets: partitions have grown, and there may be new ones."""
    grown: Offsets = {}
    for topic in ("a", "b"):
        known = start.get(topic, {})
        count = len(known) + rng.randrange(2)
        grown[topic] = {
            str(place): known.get(str(place), 0) + rng.choice([0, rng.randrange(90_000)])
            for place in range(count)
        }
    return grown


def _records(ranges: list[OffsetRange]) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """By partition, the ranges put together where one ends as the next begins."""
    spans: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for one in ranges:
        known = spans.setdefault((one.topic, one.partition), [])
        if known and known[-1][1] == one.begin:
            known[-1] = (known[-1][0], one.end)
        else:
            known.append((one.begin, one.end))
    return spans


@seeds(20)
def test_all_records_are_read_once_and_in_order(seed: int) -> None:
    rng = random.Random(seed)
    position: Offsets = {"a": {"0": 7}, "b": {}}
    read: list[OffsetRange] = []
    first = position
    for _ in range(5):
        latest = _grown(rng, position)
        most = rng.randrange(1, 100_000)
        end = limited(position, latest, most)
        wanted = ranges_between(position, end)
        shares = shared_out(position, end, tasks := rng.randrange(1, 5))
        planned = [one for share in shares for one in share.ranges]
        assert len(shares) <= tasks and (all(share.ranges for share in shares) or not wanted)
        assert planned == wanted, "no range is divided"
        assert all(share.partitions == partition_names(end) for share in shares)
        assert sum(one.size for one in wanted) <= most + len(wanted)
        read, position = read + planned, end
    expected = ranges_between(first, position)
    assert _records(sorted(read)) == _records(expected) != {}


def test_a_limit_always_brings_something() -> None:
    latest = {"a": {"0": 1, "1": 10**9}}
    assert limited({"a": {"0": 0, "1": 0}}, latest, 1) == {"a": {"0": 1, "1": 1}}


@pytest.mark.parametrize(
    ("latest", "reason"),
    [
        ({"a": {"0": 4}}, "partition 0 of topic 'a' ends at offset 4, and 5 was next"),
        ({"a": {"1": 9}}, "partition 0 of topic 'a' is gone, and 5 was next"),
        ({}, "partition 0 of topic 'a' is gone"),
    ],
)
def test_records_that_a_broker_lost_are_never_passed_over(latest: Offsets, reason: str) -> None:
    with pytest.raises(LostRecords, match=f"Kafka does not have all that was to be read: {reason}"):
        limited({"a": {"0": 5}}, latest, 10)


def test_what_is_next_must_be_there() -> None:
    earliest, latest = {"a": {"0": 5, "1": 0}}, {"a": {"0": 9, "1": 0}}
    for start in ({}, {"a": {"0": 5}}, {"a": {"0": 9, "1": 0}}):
        refuse_lost(start, earliest, latest)
    with pytest.raises(LostRecords, match="partition 0 of topic 'a' begins at offset 5, and 4 was next"):
        refuse_lost({"a": {"1": 0, "0": 4}}, earliest, latest)
    with pytest.raises(LostRecords, match="partition 1 of topic 'a' ends at offset 0, and 1 was next"):
        refuse_lost({"a": {"0": 9, "1": 1}}, earliest, latest)


def test_few_records_are_one_task() -> None:
    start, end = ({"a": {str(place): offset for place in range(64)}} for offset in (0, 10))
    (task,) = shared_out(start, end, 8)
    assert len(task.ranges) == len(task.partitions) == 64
    assert shared_out(end, end, 8) == []


def test_a_partition_that_is_new_and_empty_is_named() -> None:
    assert shared_out({"a": {"0": 5}}, {"a": {"0": 5, "1": 0}}, 8) == [TaskRanges([], ("a/0", "a/1"))]
