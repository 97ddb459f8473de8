"""Offsets of topics as Spark's log has them, the ranges of a micro-batch that tasks read, and troubles.

    start   {"bids": {"0": 10, "1": 0}}      end   {"bids": {"0": 14, "1": 3}}
    ranges  bids/0 [10, 14)   bids/1 [0, 3)

The form is that of Spark's own Kafka source, so a checkpoint of one is read by the other. A partition that
the start does not know is a new one, and is read from 0.
Law: the ranges of a task depend on start, end and the number of tasks alone: a repeated micro-batch has them
again, in the order of topic and partition. All records of a partition in a micro-batch are one task's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from seine.errors import RunError


class BrokerSilent(RunError):
    """A broker that does not answer: nobody's fault, so the same is tried again."""


class LostRecords(RunError):
    """Records that a broker does not have any more, and that were not read yet."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Kafka does not have all that was to be read: {reason}")


class UnknownTopic(RunError):
    """A topic that is not there."""

    def __init__(self, topic: str, stream: str | None = None) -> None:
        super().__init__(
            f"there is no topic '{topic}'" + (f", which stream {stream} reads" if stream else "")
        )


class UnmatchedPattern(UnknownTopic):
    """A pattern that no topic matches."""

    def __init__(self, pattern: str) -> None:
        RunError.__init__(self, f"no topic matches the pattern '{pattern}'")


class RemadeTopic(RunError):
    """A topic that is another one by now, under the name of one that was read."""

    def __init__(self, topic: str, stream: str) -> None:
        super().__init__(
            f"topic '{topic}' of stream {stream} was deleted and made again since it was read",
            hint="what was not read of the old one is gone; begin with another checkpoint",
        )


_TASK_RECORDS = 20_000  # that are worth a task of their own
Offsets = dict[str, dict[str, int]]  # the next offset by topic and partition


class OffsetRange(NamedTuple):
    """Records of one partition from `begin` to before `end`."""

    topic: str
    partition: int
    begin: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.begin


def ranges_between(start: Mapping[str, Mapping[str, int]], end: Offsets) -> list[OffsetRange]:
    """What is between two offsets; `LostRecords` if the end is before the start.

    >>> for one in ranges_between({"bids": {"0": 10}}, {"bids": {"0": 14, "1": 3}}): print(*one)
    bids 0 10 14
    bids 1 0 3
    """
    for topic, places in start.items():
        for partition, begin in places.items():
            last = end.get(topic, {}).get(partition)
            if last is None or last < begin:
                there = "is gone" if last is None else f"ends at offset {last}"
                raise LostRecords(f"partition {partition} of topic '{topic}' {there}, and {begin} was next")
    ranges = [
        OffsetRange(topic, int(partition), start.get(topic, {}).get(partition, 0), last)
        for topic, places in end.items()
        for partition, last in places.items()
    ]
    return sorted(one for one in ranges if one.size)


def refuse_lost(start: Offsets, earliest: Offsets, latest: Offsets) -> None:
    """Refuse to go on from a start of which a broker does not have what follows: `LostRecords`.

    >>> refuse_lost({"bids": {"0": 6}}, {"bids": {"0": 6}}, {"bids": {"0": 9}})
    """
    ranges_between(start, latest)
    for topic, places in start.items():
        for partition, begin in places.items():
            if begin < (first := earliest[topic][partition]):
                place = f"partition {partition} of topic '{topic}'"
                raise LostRecords(f"{place} begins at offset {first}, and {begin} was next")


def limited(start: Offsets, latest: Offsets, most: int) -> Offsets:
    """The latest offsets, or some before them with about `most` records in between, by shares.

    >>> limited({"bids": {"0": 0, "1": 0}}, {"bids": {"0": 300, "1": 100}}, 40)
    {'bids': {'0': 30, '1': 10}}
    """
    ranges = ranges_between(start, latest)
    total = sum(one.size for one in ranges)
    if total <= most:
        return latest
    end = {topic: dict(places) for topic, places in latest.items()}
    for one in ranges:
        end[one.topic][str(one.partition)] = one.begin + max(1, one.size * most // total)
    return end


class TaskRanges(NamedTuple):
    """What one task reads, and the names of all partitions that there are by then."""

    ranges: list[OffsetRange]
    partitions: tuple[str, ...]


def shared_out(start: Offsets, end: Offsets, tasks: int) -> list[TaskRanges]:
    """Whole ranges for each of at most so many tasks, with about as many records each.

    The records of a partition are judged in their order, so no range is divided. Few records are one task:
    what a task costs would be more than they do. New partitions are named even if nothing is in them.

    >>> start, end = {"t": {"0": 0, "1": 5}}, {"t": {"0": 60_000, "1": 20_005, "2": 3}}
    >>> for task in shared_out(start, end, 2): print([one[1:] for one in task.ranges], task.partitions[2])
    [(0, 0, 60000)] t/2
    [(1, 5, 20005), (2, 0, 3)] t/2
    """
    ranges = ranges_between(start, end)
    names = partition_names(end)
    if not ranges:
        return [TaskRanges([], names)] if names != partition_names(start) else []
    size = max(_TASK_RECORDS, -(-sum(one.size for one in ranges) // tasks))
    shares: list[TaskRanges] = []
    room = 0
    for one in ranges:
        if room <= 0:
            shares.append(TaskRanges([], names))
            room = size
        shares[-1].ranges.append(one)
        room -= one.size
    return shares


def partition_names(offsets: Offsets) -> tuple[str, ...]:
    """The partitions that offsets have, in their order.

    >>> partition_names({"b": {"10": 0, "9": 4}, "a": {"0": 7}})
    ('a/0', 'b/9', 'b/10')
    """
    places = sorted((topic, int(place)) for topic, places in offsets.items() for place in places)
    return tuple(f"{topic}/{place}" for topic, place in places)
